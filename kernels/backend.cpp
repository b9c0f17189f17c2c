// The table of what the library calls.
#include "cuda_backend.hpp"
#include "platform/cuda_error.hpp"

#include <detreduce/losses.hpp>

namespace detreduce::cuda {
namespace {

const Device& device_of(const Device& device) {
    return device;
}
template <class AnyPlan>
const Device& device_of(const AnyPlan& plan) {
    return plan.request().device;
}

/// Work with the device of its first argument as the current one.
template <auto Work>
struct OnDevice;
template <class First, class... More, Status (*Work)(const First&, More...) noexcept>
struct OnDevice<Work> {
    static Status call(const First& first, More... more) noexcept {
        const DeviceScope scope(device_of(first).index);
        return scope.status().ok() ? Work(first, more...) : scope.status();
    }
};

#define DETREDUCE_FUNCTOR(F) OnDevice<enqueue_each<spec::F>>::call,
constexpr Functions table{.prepare = prepare,
                          .row_workspace_bytes = row_workspace_bytes,
                          .enqueue = OnDevice<enqueue>::call,
                          .enqueue_states = OnDevice<enqueue_states>::call,
                          .enqueue_rows = OnDevice<enqueue_rows>::call,
                          .enqueue_scale_gradient = OnDevice<enqueue_scale_gradient>::call,
                          .enqueue_quotient = OnDevice<enqueue_quotient>::call,
                          .each = {DETREDUCE_FUNCTORS(DETREDUCE_FUNCTOR)},
                          .enqueue_loss = OnDevice<enqueue_loss>::call,
                          .enqueue_loss_gradient = OnDevice<enqueue_loss_gradient>::call,
                          .enqueue_clip = OnDevice<enqueue_clip>::call,
                          .enqueue_fingerprint = OnDevice<enqueue_fingerprint>::call,
                          .enqueue_offsets = OnDevice<enqueue_offsets>::call,
                          .find_fault = OnDevice<find_fault>::call,
                          .enqueue_add = OnDevice<enqueue_add>::call,
                          .enqueue_finish = OnDevice<enqueue_finish>::call,
                          .allocate = OnDevice<allocate>::call,
                          .release = OnDevice<release>::call,
                          .devices = list_devices,
                          .driver_version = find_driver_version,
                          .runtime_version = find_runtime_version};
#undef DETREDUCE_FUNCTOR

} // namespace

const Functions* functions() noexcept {
    return &table;
}

Status allocate(const Device&, std::size_t bytes, Stream stream, void*& memory) noexcept {
    return from_cuda("cudaMallocAsync", cudaMallocAsync(&memory, bytes, stream));
}
Status release(const Device&, void* memory, Stream stream) noexcept {
    return from_cuda("cudaFreeAsync", cudaFreeAsync(memory, stream));
}

} // namespace detreduce::cuda
