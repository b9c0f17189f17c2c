// clip_grad_norm: the norm of a list of tensors taken as one vector, and the tensors scaled down,
// in place, where it is too large. What torch.nn.utils.clip_grad_norm_ computes, with bits that do
// not depend on how the list is ordered or cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// What to clip and where.
struct ClipRequest {
    std::uint64_t n = 0;       ///< elements of all tensors, 0 … 2^40
    std::uint64_t tensors = 0; ///< how many there are, less than 2^32
    double max_norm = 1;       ///< what the norm is brought down to; not negative, may be infinite
    double epsilon = 1e-6;     ///< added to the norm before max_norm is divided by it; finite, not negative
    DType norm = DType::f64;   ///< of the norm that is given: f64 or f32
    Device device = current_gpu;
    Launch launch = {}; ///< of the norm; on the CPU the same threads scale
};

/// One value that owns launch and workspace, as Plan does.
class ClipPlan {
  public:
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] const ClipRequest& request() const noexcept { return request_; }
    /// The plan of the norm alone: nrm2 of the list, by exact.
    [[nodiscard]] const Plan& norm() const noexcept { return norm_; }
    /// Bytes of device memory, aligned to 256, that run() needs; 0 on the CPU.
    [[nodiscard]] std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
    /// Of the norm and of every element that is written.
    [[nodiscard]] static constexpr Guarantee guarantee() noexcept { return Guarantee::order; }

  private:
    friend ClipPlan make_clip_plan(const ClipRequest& request) noexcept;
    ClipRequest request_;
    Plan norm_;
    std::size_t workspace_bytes_ = 0;
    Status status_{StatusCode::invalid_argument, "plan", "must come from make_clip_plan()"};
};
static_assert(std::is_trivially_copyable_v<ClipPlan>);

/// Makes the plan of `request`; as make_plan(). errors: invalid_argument for max_norm, epsilon,
/// norm, n, tensors, launch and device; unsupported; no_device; cuda_error
[[nodiscard]] ClipPlan make_clip_plan(const ClipRequest& request) noexcept;

/// Writes the norm of all elements of `list` to `norm_out`, and scales every element if the norm is
/// too large.
///
/// formula      N = √Σx², the true norm rounded once to f64; c = max_norm / (N + epsilon), each
///              step in f64. Each x becomes x·c, rounded once to its dtype, unless c ≥ 1 or N +
///              epsilon = 0: then no byte of the tensors is written
/// shapes       list: plan.request().tensors Tensors in host memory, read before run() returns, of
///              any lengths; what their `data` points to is written. norm_out: one element
/// dtypes       tensors: f16, bf16, f32, f64, in any mixture. norm_out: plan.request().norm
/// guarantee    order: the bits depend on the multiset of the elements alone, on CPU and GPU
/// error bound  norm: half an ulp. Elements: half an ulp of x·c·(1 + δ), |δ| ≤ 2^−24, with one δ
///              for all; of f64 half an ulp of x·c, where c has three roundings
/// workspace    plan.workspace_bytes() bytes of device memory, private to this call until it is
///              done. It, norm_out and the tensors must not overlap, which is refused. Tensors must
///              not overlap each other, which is not checked
/// stream       CUDA: enqueued on `stream` of the plan's device, not synchronised, nothing
///              allocated, may be captured in a graph. CPU: returns when all is written
/// errors       plan.status() if that is not ok; invalid_argument for `list` (with the index of the
///              tensor, if one is bad), `norm_out` and `workspace`; out_of_memory; cuda_error.
///              Nothing is written then, but after a cuda_error norm and tensors are undefined
/// NaN, empty   a NaN: the norm and all elements are NaN. An infinite norm: finite elements become
///              zeros, infinite ones NaN. No elements: the norm is +0
/// more         docs/reference-calls.md, lib/SPEC.md, section 16
Status run(const ClipPlan& plan, const Tensor* list, void* norm_out, void* workspace = nullptr,
           Stream stream = nullptr) noexcept;

/// The same by the norm of more than `list`, which is a part of that: of what many processes have,
/// say (mpi.hpp, nccl.hpp). `state` is that of a plan of states (states.hpp) of nrm2 of lists of
/// tensors of dtype f64, put together of those of all parts, in memory of the plan's device. Null:
/// all else is checked, and nothing written.
///
/// errors       as run(); invalid_argument for `state` where it is misaligned and, on the CPU, no
///              such state or beyond the headroom. Nothing is written then. On CUDA the norm of
///              such a state is NaN, and no tensor is written
Status clip_by_state(const ClipPlan& plan, const std::int64_t* state, const Tensor* list, void* norm_out,
                     void* workspace = nullptr, Stream stream = nullptr) noexcept;

/// Throws Error where make_clip_plan() and run() return what went wrong; otherwise the same.
namespace throwing {
[[nodiscard]] inline ClipPlan make_clip_plan(const ClipRequest& request) {
    return checked(detreduce::make_clip_plan(request));
}
inline void run(const ClipPlan& plan, const Tensor* list, void* norm_out, void* workspace = nullptr,
                Stream stream = nullptr) {
    throw_if_error(detreduce::run(plan, list, norm_out, workspace, stream));
}
} // namespace throwing

} // namespace detreduce
#pragma GCC visibility pop
