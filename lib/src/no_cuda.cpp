// Stands in for kernels/ in a build without CUDA: says so, in the words a user can act on.
#include <detreduce/cuda.hpp>
#include <detreduce/losses.hpp>

#include "cuda_backend.hpp"

namespace detreduce::cuda {
namespace {
constexpr Status none{StatusCode::no_device, "device",
                      "this build of detreduce has no CUDA backend; allowed is the CPU"};
}

Status prepare(Request&, detail::Route&) noexcept {
    return none;
}
Status enqueue(const Plan&, const Inputs&, void*, void*, Stream) noexcept {
    return none;
}
std::size_t row_workspace_bytes(const RowRequest&, const Plan&) noexcept {
    return 0;
}
Status enqueue_rows(const RowPlan&, const RowArrays&, void*, Stream) noexcept {
    return none;
}
Status enqueue_quotient(Device, const spec::Quotient&, Stream) noexcept {
    return none;
}
Status run_async(const RowPlan&, const RowArrays&, Stream) noexcept {
    return none;
}
Status enqueue_clip(const ClipPlan&, const Tensor*, void*, void*, Stream) noexcept {
    return none;
}
Status enqueue_loss(const LossPlan&, const LossInputs&, void*, void*, Stream) noexcept {
    return none;
}
Status enqueue_loss_gradient(const LossPlan&, const LossInputs&, const void*, void*, Stream) noexcept {
    return none;
}
Status enqueue_offsets(Device, const spec::Ascending&, std::uint64_t*, Stream) noexcept {
    return none;
}
Status find_fault(Device, const spec::Ascending&, Stream, std::uint64_t&) noexcept {
    return none;
}
Status run_async(const Plan&, Inputs, void*, Stream) noexcept {
    return none;
}
Status run_async(const LossPlan&, const LossInputs&, void*, Stream) noexcept {
    return none;
}
Status add(ExactState*, DType, const void*, std::uint64_t, Stream) noexcept {
    return none;
}
Status merge(ExactState*, const ExactState*, Stream) noexcept {
    return none;
}
Status round(const ExactState*, DType, void*, Stream) noexcept {
    return none;
}

bool built_with_cuda() noexcept {
    return false;
}
std::vector<DeviceInfo> devices(std::string* why) {
    if (why) *why = "this build of detreduce has no CUDA backend";
    return {};
}
int driver_version() noexcept {
    return 0;
}
int runtime_version() noexcept {
    return 0;
}

} // namespace detreduce::cuda
