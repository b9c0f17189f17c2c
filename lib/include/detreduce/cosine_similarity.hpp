// Cosine similarity of the rows of two matrices, Σx·y / (|x|·|y|), and its gradient, as
// torch.nn.functional.cosine_similarity has it. As with plan.hpp: make a plan, run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// What to compute and where. Only `dtype`, `n` and `rows` have no useful default.
struct CosineRequest {
    DType dtype = DType::f32;         ///< of x, y, upstream and the gradient
    std::optional<DType> output = {}; ///< of the result; empty: that of the elements
    std::uint64_t n = 0;              ///< elements of a row, 0 … 2^40
    std::uint64_t rows = 1;           ///< 0 … 2^40
    std::uint64_t stride = 0; ///< elements from one row's beginning to the next one's, of x, y and the gradient; 0: n
    double epsilon = 1e-8;    ///< what norms are at least; finite, not negative
    Method method =
        Method::automatic; ///< of dot products and norms: automatic (exact), exact, compensated, kahan, tree
    Device device = current_gpu;
    Launch launch = {}; ///< of these; on the CPU the same threads do the rest
};

/// One value that owns launch and workspace, as Plan does.
class CosinePlan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] const CosineRequest& request() const noexcept { return request_; }
    [[nodiscard]] DType output() const noexcept { return request_.output.value_or(request_.dtype); }
    [[nodiscard]] std::uint64_t stride() const noexcept { return request_.stride ? request_.stride : request_.n; }
    /// Three numbers a row, and what dot products and norms need: bytes of memory of the device,
    /// aligned to 256, on the CPU of the host, aligned to 8.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
    /// The dot products and the norms of the rows, in f64.
    [[nodiscard]] const Plan& dots() const noexcept { return dots_; }
    [[nodiscard]] const Plan& norms() const noexcept { return norms_; }

  private:
    friend CosinePlan make_cosine_plan(const CosineRequest& request) noexcept;
    CosineRequest request_;
    Plan dots_, norms_;
    std::size_t workspace_bytes_ = 0;
    Status status_{StatusCode::invalid_argument, "plan", "must come from make_cosine_plan()"};
};
static_assert(std::is_trivially_copyable_v<CosinePlan>);

[[nodiscard]] CosinePlan make_cosine_plan(const CosineRequest& request) noexcept;

/// Writes the cosine similarity of each row of x and the row of y, a number a row.
///
/// formula      S / max(|x|, epsilon) / max(|y|, epsilon), at most 1 and at least −1: S the dot
///              product and |x|, |y| the norms by the method, rounded to f64, both divisions in
///              f64; rounded once to the output
/// shapes       x, y: plan.request().rows rows of n elements, plan.stride() apart. out: a number of
///              plan.output() a row
/// guarantee    that of the method. By exact a permutation of the columns changes no bit
/// error bound  by exact three units in the last place of f64, of the result, and half a unit of
///              the output
/// passes       three over x and y in all
/// errors       plan.status() if that is not ok; invalid_argument for a null or misaligned pointer
///              and for an overlap of out or the workspace with each other or with what is read;
///              out_of_memory; cuda_error
/// NaN, empty   a row with a NaN or an infinity, or of zeros with epsilon 0: NaN. A row of zeros,
///              or n = 0, with another epsilon: 0. Where S is beyond f64, ±1
/// source       lib/SPEC.md, section 17.8
Status run(const CosinePlan& plan, const void* x, const void* y, void* out, void* workspace,
           Stream stream = nullptr) noexcept;

/// The derivative of what run() computes with respect to each element of x, times what comes from
/// upstream. For that with respect to y, x and y change places.
///
/// formula      (y / (|x|·|y|) − x·cos / |x|²)·upstream, in f64, |x| and |y| at least epsilon;
///              without the second part where |x| is less than that
/// shapes       upstream: null, for 1, or an element of the dtype a row. dx: as x; it may be x or
///              y, with another overlap refused
Status run_gradient(const CosinePlan& plan, const void* x, const void* y, const void* upstream, void* dx,
                    void* workspace, Stream stream = nullptr) noexcept;

} // namespace detreduce
#pragma GCC visibility pop
