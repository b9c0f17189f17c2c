// The CUDA backend, as seen by plan.cpp: implemented in kernels/, or in no_cuda.cpp when the build has none.
#pragma once

#include <cstddef>

#include <detreduce/clip_grad_norm.hpp>
#include <detreduce/plan.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/spec/ascending.hpp>

// Not losses.hpp, which brings the min() and max() of host.hpp: kernels that include this mean CUDA's.
namespace detreduce {
class LossPlan;
struct LossInputs;
namespace spec {
struct Quotient;
}
} // namespace detreduce

namespace detreduce::cuda {

/// Decides the rest of a route that has an engine and the launch that was asked for, and names the device that an index of -1 is; says what is wrong with
/// the launch or the device.
[[nodiscard]] Status prepare(Request& request, detail::Route& route) noexcept;

/// Enqueues a prepared plan, all of whose pointers have been checked for null and alignment.
[[nodiscard]] Status enqueue(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream) noexcept;

/// The same for terms of a loss, or their sum or mean, of a plan that is no op; and for the gradient, of any.
[[nodiscard]] Status enqueue_loss(const LossPlan& plan, const LossInputs& in, void* out, void* workspace,
                                  Stream stream) noexcept;
[[nodiscard]] Status enqueue_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, void* dx,
                                           Stream stream) noexcept;

/// What clipping needs beside the workspace of the norm's plan, and behind it: the factor.
inline constexpr std::size_t clip_workspace_bytes = 256;
/// Enqueues a prepared plan, all of whose pointers have been checked.
[[nodiscard]] Status enqueue_clip(const ClipPlan& plan, const Tensor* list, void* norm_out, void* workspace,
                                  Stream stream) noexcept;

/// Workspace of a checked request whose sums have this plan, and running a checked plan, of at least one row, that is not reduced. Of nll x and out may be null: then it is the weights
/// that are wanted.
[[nodiscard]] std::size_t row_workspace_bytes(const RowRequest& request, const Plan& sums) noexcept;
[[nodiscard]] Status enqueue_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace,
                                  Stream stream) noexcept;

[[nodiscard]] Status enqueue_quotient(Device device, const spec::Quotient& quotient, Stream stream) noexcept;

/// Enqueues what writes the ids.end + 1 offsets of segments by id.
[[nodiscard]] Status enqueue_offsets(Device device, const spec::Ascending& ids, std::uint64_t* offsets,
                                     Stream stream) noexcept;

/// The least finding of all entries. Waits for the stream.
[[nodiscard]] Status find_fault(Device device, const spec::Ascending& entries, Stream stream,
                                std::uint64_t& found) noexcept;

} // namespace detreduce::cuda
