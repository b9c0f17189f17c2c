// What softmax classifiers and normalization layers do to each row of a matrix: logsumexp, softmax,
// log_softmax, layernorm, rmsnorm, cross entropy and nll, of each row or of all of them, and the
// gradients of all of these. As with plan.hpp: make a plan, run it; neither throws, prints,
// allocates or synchronises, but for what plan.hpp names. row_losses.hpp has shorter calls on the
// CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <detreduce/loss_words.hpp>
#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// What is done to a row x of n elements: X(enumerator and name, name in C).
#define DETREDUCE_ROW_OPS(X)                                                                                           \
    X(logsumexp, LOGSUMEXP)         /* log Σ e^x: one number */                                                       \
    X(softmax, SOFTMAX)             /* e^x / Σ e^x: n numbers */                                                      \
    X(log_softmax, LOG_SOFTMAX)     /* x − log Σ e^x: n numbers */                                                  \
    X(layernorm, LAYERNORM)         /* (x − mean) / √(variance + epsilon) · scale + shift: n numbers */           \
    X(rmsnorm, RMSNORM)             /* x / √(Σ x² / n + epsilon) · scale: n numbers */                            \
    X(cross_entropy, CROSS_ENTROPY) /* −Σ q·log_softmax(x), q 1 at the row's target, or given: one number */       \
    X(cross_entropy_gradient, CROSS_ENTROPY_GRADIENT) /* gradient: (softmax(x)·Σq − q) · factor: n numbers */     \
    X(nll, NLL)                   /* −x at the row's target; x: logarithms of probabilities: one number */           \
    X(nll_gradient, NLL_GRADIENT) /* gradient: −factor at the target, else +0: n numbers */                          \
    /* Gradients with d from upstream; y is what forward gave, in the place of x: n numbers. */                        \
    X(softmax_gradient, SOFTMAX_GRADIENT)         /* y·(d − Σ d·y) */                                             \
    X(log_softmax_gradient, LOG_SOFTMAX_GRADIENT) /* d − e^y·Σ d */                                                \
    X(logsumexp_gradient, LOGSUMEXP_GRADIENT)     /* softmax(x)·d, of one d a row */                                  \
    X(layernorm_gradient, LAYERNORM_GRADIENT) /* (g − Σg / n − z·(Σ g·z) / n)·rstd, z = (x − mean)·rstd */ \
    X(rmsnorm_gradient, RMSNORM_GRADIENT)     /* (g − z·(Σ g·z) / n)·rstd, z = x·rstd, g = d·scale */          \
    /* with respect to probabilities: −log_softmax(x)·weight·factor: n numbers */                                  \
    X(cross_entropy_target_gradient, CROSS_ENTROPY_TARGET_GRADIENT)
enum class RowOp : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_ROW_OPS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What to do, and where. Only `dtype`, `n` and `rows` have no useful default.
struct RowRequest {
    RowOp op = RowOp::softmax;
    DType dtype = DType::f32;         ///< of the elements, and of scale, shift and weights
    std::optional<DType> output = {}; ///< of the results; empty: that of the elements; f32 for f16 and bf16
    std::uint64_t n = 0;              ///< elements of a row, 0 … 2^40
    std::uint64_t rows = 1;           ///< 0 … 2^40; no more than 2^46 elements in all
    std::uint64_t stride = 0; ///< elements from the beginning of one row to that of the next; 0: n, else at least that
    std::uint64_t output_stride = 0; ///< the same of results, where there are n a row
    double epsilon = 1e-5;           ///< layernorm, rmsnorm: not negative, finite
    double label_smoothing = 0;      ///< cross entropy: 0 … 1
    double z_loss = 0; ///< cross entropy, and its gradient by x: this times logsumexp² is added to a row's loss
    std::int64_t ignore_index = -100;     ///< of targets: rows with this one have a loss and a weight of +0
    std::uint64_t probability_stride = 0; ///< elements from one row's probabilities to those of the next, as `stride`
    std::uint64_t upstream_stride = 0;    ///< the same of what comes from upstream, where that is n numbers a row
    /// Gradients of norms: also those with respect to scale and shift, which are sums over the rows
    /// by `method`.
    bool parameters = false;
    /// Of cross entropy and nll: the loss of each row, their sum, or that over the sum of the rows'
    /// weights; of their gradients: which of these it is the gradient of. Empty: mean of these,
    /// none of other ops.
    std::optional<Reduction> reduction = {};
    Method method = Method::automatic; ///< of these sums: automatic (exact), exact, compensated, kahan or tree
    Device device = current_gpu;
    Launch launch =
        {}; ///< CPU: threads, isa. CUDA: schedule, block and grid may not be asked for, and these two mean nothing
    /// Of cross entropy and nll, reduced by exact: write states, for a loss by many (states.hpp),
    /// in the place of the sum or mean. `rows` is how many a part has, and may be 0. The mean takes
    /// targets that are classes.
    bool state = false;
};

class RowPlan;
namespace detail {
[[nodiscard]] constexpr const Plan& sums_of(const RowPlan& plan) noexcept;
}

/// One value that owns launch and workspace. A plain value, as Plan is.
class RowPlan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] const RowRequest& request() const noexcept { return request_; }
    [[nodiscard]] DType output() const noexcept { return request_.output.value_or(request_.dtype); }
    [[nodiscard]] std::uint64_t stride() const noexcept { return request_.stride ? request_.stride : request_.n; }
    /// Results of a row: n, or 1 of logsumexp, cross_entropy and nll, which, reduced, have 1 of all
    /// rows.
    [[nodiscard]] std::uint64_t results() const noexcept {
        const RowOp op = request_.op;
        return op == RowOp::logsumexp || op == RowOp::cross_entropy || op == RowOp::nll ? 1 : request_.n;
    }
    [[nodiscard]] std::uint64_t output_stride() const noexcept {
        return request_.output_stride ? request_.output_stride : results();
    }
    /// The format in which rows are computed, f32 or, of f64, f64: that of means, reciprocals and
    /// factors.
    [[nodiscard]] DType arithmetic() const noexcept { return arithmetic_of(request_.dtype); }
    /// Bytes of device memory, aligned to 256, that run() needs: some where a row has more than one
    /// tile (8192 elements of f32, 4096 of f64, 16384 of f16 and bf16), of logsumexp, cross_entropy
    /// and their gradients two numbers a tile, of these gradients two a row, too, else none.
    /// CPU: 0. With a reduction two numbers a row more, and what the sum needs, of gradients only
    /// for the mean; with `parameters` what the sums over the rows need, and, but for those by
    /// exact on CUDA, a number of arithmetic() an element; on the CPU, too, aligned to 8.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
    /// Of a request for states: the plan of what run() writes to RowArrays::out, which is merged,
    /// added up by whatever adds integers, and serialized as that of any plan: of one group, that
    /// of the losses, and of the mean of a second one, that of the rows' weights.
    [[nodiscard]] Plan states() const noexcept;
    /// On the CPU: the threads and the instruction set that were chosen. On CUDA there is nothing
    /// to choose: automatic and 0.
    [[nodiscard]] const Launch& launch() const noexcept { return launch_; }

  private:
    friend RowPlan make_row_plan(const RowRequest& request) noexcept;
    friend struct detail::RowPlanParts;
    friend constexpr const Plan& detail::sums_of(const RowPlan& plan) noexcept;
    RowRequest request_;
    Launch launch_;
    std::size_t workspace_bytes_ = 0;
    Plan sums_, totals_[2]; ///< of each row, and of all: a sum, or states of one array and of two
    Status status_{StatusCode::invalid_argument, "plan", "must come from make_row_plan()"};
};
static_assert(std::is_trivially_copyable_v<RowPlan>);

namespace detail {
/// A plan of sums of the rows by tree, for what row ops have in common with it: the device and what
/// is known of it, and threads.
constexpr const Plan& sums_of(const RowPlan& plan) noexcept {
    return plan.sums_;
}
} // namespace detail

[[nodiscard]] RowPlan make_row_plan(const RowRequest& request) noexcept;

/// Where everything is. What an op does not name must be null.
struct RowArrays {
    const void* x = nullptr;
    void* out = nullptr;
    const void* scale = nullptr; ///< layernorm, rmsnorm: n elements, or null for 1
    const void* shift = nullptr; ///< layernorm, with scale: n elements, or null for 0
    void* mean = nullptr;        ///< layernorm: a number of plan.arithmetic() a row, or null; its gradient reads it
    void* rstd = nullptr;        ///< layernorm, rmsnorm: the same of 1 / √(… + epsilon)
    const std::int64_t* targets = nullptr; ///< cross entropy, nll: a class a row, 0 … n − 1, or ignore_index
    const void* probabilities = nullptr;   ///< cross entropy, in the place of targets: n elements a row
    const void* weights = nullptr;         ///< cross entropy, nll: n elements, a weight a class, or null for 1
    /// cross_entropy, nll, not reduced: the weight of the row's target, 1 with probabilities, of
    /// plan.arithmetic(), a row, or null.
    void* row_weights = nullptr;
    /// Gradients of cross entropy and nll: one number of plan.arithmetic(), the gradient with
    /// respect to what is differentiated, or null for 1.
    const void* factor = nullptr;
    /// The other gradients: that with respect to what the op gives, n elements a row, or, of
    /// logsumexp, a number of plan.arithmetic() a row; the same, in the place of factor, of cross
    /// entropy and nll that are not reduced.
    const void* upstream = nullptr;
    void* scale_gradient = nullptr; ///< with `parameters`: n results, summed over the rows
    void* shift_gradient = nullptr; ///< layernorm, with `parameters`: the same, or null
    /// logsumexp, cross_entropy: two numbers of plan.arithmetic() a row, or null: what SPEC.md,
    /// 17.1, knows of its sum of exponentials, or NaN. The gradient, given what its own op wrote of
    /// the same rows and targets, has the same bits after one read of x.
    void* exp_sums = nullptr;
};

/// Runs `plan`.
///
/// formula      RowOp says what is computed, in plan.arithmetic(), by the method tree. A reduced
///              loss is the sum of the losses of rows by plan.request().method, or that over the
///              sum of the rows' weights
/// shapes       x: rows of n contiguous elements, plan.stride() apart. out: plan.results() a row,
///              plan.output_stride() apart; single results are contiguous; reduced: one number
/// dtypes       f16, bf16, f32, f64; out: the same, or f32 of f16 and bf16
/// guarantee    device: a row has the bits that it has alone, for every batch, stride, alignment
///              and number of threads. Reduced by exact, the order of the rows does not matter
///              either
/// error bound  lib/SPEC.md, section 17.1; accuracy/row_bounds.hpp has the bounds as functions
/// workspace    plan.workspace_bytes() bytes of memory of the plan's device, private to this call
///              until it is done
/// stream       CUDA: enqueued on `stream` of the plan's device, not synchronised, may be captured
///              in a graph. CPU: returns when all is written
/// overlap      out of a gradient may be x, upstream or probabilities: the same pointer, stride and
///              element size. Every other overlap of results or workspace is refused
/// errors       plan.status() if that is not ok; invalid_argument for a null or misaligned pointer,
///              an array that the op does not have, and, on the CPU, for `targets` with the index
///              of the first that is no class (on CUDA its row is NaN); out_of_memory
/// NaN, empty   a NaN that the op reads makes its row NaN. n = 0: logsumexp is −inf, others write
///              nothing. No rows: a sum of +0. docs/reference-calls.md has infinities, weights of 0
///              and what is refused
/// more         docs/reference-calls.md, lib/SPEC.md, section 17
Status run(const RowPlan& plan, const RowArrays& arrays, void* workspace = nullptr, Stream stream = nullptr) noexcept;

/// Of a request for states: writes the loss of all rows that went into `states`, those of
/// plan.states(), to `out`, as run() writes it where all of them are in one place. The mean of no
/// rows, or of ignored ones, is NaN. Errors, stream and workspace are those of run(), and of
/// finish() of plan.states().
Status finish(const RowPlan& plan, const std::int64_t* states, void* out, void* workspace = nullptr,
              Stream stream = nullptr) noexcept;

namespace throwing {
[[nodiscard]] inline RowPlan make_row_plan(const RowRequest& request) {
    return checked(detreduce::make_row_plan(request));
}
inline void run(const RowPlan& plan, const RowArrays& arrays, void* workspace = nullptr, Stream stream = nullptr) {
    throw_if_error(detreduce::run(plan, arrays, workspace, stream));
}
} // namespace throwing

namespace cuda {
/// run() with the workspace taken from the stream-ordered allocator, and freed in stream order.
Status run_async(const RowPlan& plan, const RowArrays& arrays, Stream stream = nullptr) noexcept;
} // namespace cuda

[[nodiscard]] std::string_view name(RowOp op) noexcept;

} // namespace detreduce
#pragma GCC visibility pop
