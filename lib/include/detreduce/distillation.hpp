// The loss of distillation, temperature²·KL(softmax(y / temperature) ‖ softmax(x / temperature)) of
// the rows of two matrices of logits, a student's x and a teacher's y, and its gradient. As with
// plan.hpp: make a plan, run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// What to compute and where. Only `dtype`, `n` and `rows` have no useful default.
struct DistillationRequest {
    DType dtype = DType::f32;         ///< of x, y, upstream and the gradient
    std::optional<DType> output = {}; ///< of the result; empty: that of the elements
    std::uint64_t n = 0;              ///< classes, elements of a row, 1 … 2^40
    std::uint64_t rows = 1;           ///< 0 … 2^40; no more than 2^40 elements in all
    std::uint64_t stride = 0; ///< elements from one row's beginning to the next one's, of x, y and the gradient; 0: n
    double temperature = 1;   ///< finite, above 0, and so is its square
    /// Empty: mean. Of all rows: their sum, or that over their number, which torch calls batchmean.
    std::optional<Reduction> reduction = {};
    Method method =
        Method::automatic; ///< of the sum of all terms: automatic (exact), exact, compensated, kahan or tree
    Device device = current_gpu;
    Launch launch = {}; ///< CPU: threads, isa. CUDA: as of a RowRequest
};

/// One value that owns launch and workspace, as Plan does.
class DistillationPlan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] const DistillationRequest& request() const noexcept { return request_; }
    [[nodiscard]] DType output() const noexcept { return request_.output.value_or(request_.dtype); }
    [[nodiscard]] std::uint64_t stride() const noexcept { return request_.stride ? request_.stride : request_.n; }
    /// Three numbers of f32, of f64 f64, an element, and what the parts need: bytes of memory of
    /// the device, aligned to 256, on the CPU of the host, aligned to 8.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
    /// The parts: rows of logits over the temperature, and the sum over all their elements.
    [[nodiscard]] const RowPlan& log_softmax() const noexcept { return log_softmax_; }
    [[nodiscard]] const RowPlan& softmax() const noexcept { return softmax_; }
    [[nodiscard]] const LossPlan& kl_div() const noexcept { return kl_div_; }

  private:
    friend DistillationPlan make_distillation_plan(const DistillationRequest& request) noexcept;
    DistillationRequest request_;
    RowPlan log_softmax_, softmax_;
    LossPlan kl_div_;
    std::size_t workspace_bytes_ = 0;
    Status status_{StatusCode::invalid_argument, "plan", "must come from make_distillation_plan()"};
};
static_assert(std::is_trivially_copyable_v<DistillationPlan>);

[[nodiscard]] DistillationPlan make_distillation_plan(const DistillationRequest& request) noexcept;

/// Writes the loss, one number.
///
/// formula      L / (rows / temperature²), L the sum of the terms of kl_div_log_target of
///              log_softmax(x / temperature) and, as targets, log_softmax(y / temperature), all of
///              them in f32, of f64 in f64; L rounded to f64, and divided there; of a sum 1 for
///              rows
/// shapes       x, y: plan.request().rows rows of n elements, plan.stride() apart. out: one number
///              of plan.output()
/// guarantee    that of the method. By exact the order of the rows means nothing
/// error bound  that of the parts. Terms have both signs, so that the loss of rows that are nearly
///              the same may be slightly negative; of the same rows it is 0
/// passes       one over x and y, and three writes and five reads of as many numbers of f32 or f64
/// errors       plan.status() if that is not ok; invalid_argument for a null or misaligned pointer
///              and for an overlap of out or the workspace with each other or with what is read;
///              out_of_memory; cuda_error
/// NaN, empty   a NaN, +∞, or a row of −∞: NaN. −∞ in x where y is finite: +∞. No rows: a sum of
///              +0, and an error of the plan for a mean
/// source       lib/SPEC.md, section 17.10
Status run(const DistillationPlan& plan, const void* x, const void* y, void* out, void* workspace,
           Stream stream = nullptr) noexcept;

/// The derivative of what run() computes with respect to each element of x, times what comes from
/// upstream.
///
/// formula      (softmax(x / temperature) − softmax(y / temperature))·(temperature /
///              rows)·upstream, the softmax in f32, of f64 in f64, the rest in f64
/// shapes       upstream: null, for 1, or an element of the dtype. dx: as x; it may be x or y, with
///              another overlap refused
Status run_gradient(const DistillationPlan& plan, const void* x, const void* y, const void* upstream, void* dx,
                    void* workspace, Stream stream = nullptr) noexcept;

namespace cuda {
/// run() and run_gradient() with the workspace taken from the stream-ordered allocator, and freed
/// in stream order.
Status run_async(const DistillationPlan& plan, const void* x, const void* y, void* out,
                 Stream stream = nullptr) noexcept;
Status run_gradient_async(const DistillationPlan& plan, const void* x, const void* y, const void* upstream, void* dx,
                          Stream stream = nullptr) noexcept;
} // namespace cuda

} // namespace detreduce
#pragma GCC visibility pop
