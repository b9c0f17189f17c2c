// Runs a plan of any kind with its workspace from the stream-ordered allocator.
#pragma once

#include <cuda_runtime_api.h>

#include <detreduce/types.hpp>

#include "cuda_error.hpp"

namespace detreduce::cuda {

/// run(workspace) on the plan's device; what the allocator gave is freed in stream order. invalid_argument for a plan that was not made for CUDA.
template <class AnyPlan, class Run>
[[nodiscard]] Status with_workspace(const AnyPlan& plan, cudaStream_t stream, const Run& run) noexcept {
    if (!plan.status().ok()) return plan.status();
    const Device& device = plan.request().device;
    if (device.backend != Backend::cuda) {
        return {StatusCode::invalid_argument, "plan", "must be made for a CUDA device"};
    }
    const DeviceScope scope(device.index);
    if (!scope.status().ok()) return scope.status();
    void* workspace = nullptr;
    if (plan.workspace_bytes() > 0) {
        const Status got = from_cuda("cudaMallocAsync", cudaMallocAsync(&workspace, plan.workspace_bytes(), stream));
        if (!got.ok()) return got;
    }
    const Status ran = run(workspace);
    const Status freed = workspace ? from_cuda("cudaFreeAsync", cudaFreeAsync(workspace, stream)) : Status{};
    return ran.ok() ? freed : ran;
}

} // namespace detreduce::cuda
