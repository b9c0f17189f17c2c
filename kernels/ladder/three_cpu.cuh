// Three levels, ending on the CPU.
//
// What the ending is: each block stores its sum; they are copied to the host, which adds them one
// after the other; the result goes back.
// For it: the simplest code, and for a result that the host wants anyway nothing is copied that
// would not be. Against it: two copies over the bus, and a host thread that CUDA must wake. Here it
// is all in the stream (a host function between two copies), so that it is timed like the others.
// Measured: tables "The ladder" and "How the grid ends" of `detreduce ladder`, rung "CPU finish".
#pragma once

#include "three_two_kernels.cuh"

namespace detreduce::ladder {

/// In pinned memory: the sum, how many parts, and the parts.
struct HostParts {
    float sum;
    std::uint32_t count;
    float parts[1]; // and what is behind
    static std::size_t bytes(std::uint32_t count) { return sizeof(HostParts) + std::size_t{count} * sizeof(float); }
};

inline void CUDART_CB add_on_host(void* pinned) {
    auto& host = *static_cast<HostParts*>(pinned);
    host.sum = 0;
    for (std::uint32_t i = 0; i < host.count; ++i)
        host.sum += host.parts[i];
}

struct EndsOnCpu {
    static Needs needs(const Shape& shape, const Settings& settings) {
        Needs needs = needs_of_grid(three_parts, shape, settings, 4, one_after_the_other);
        needs.pinned = HostParts::bytes(static_cast<std::uint32_t>(needs.workspace / sizeof(float)));
        return needs;
    }
    static Status run(const Call& call, const Needs&, Stream stream) {
        GridOfBlocks grid{};
        Status status = grid_for(three_parts, call.shape, call.settings, grid.blocks);
        if (status.ok()) status = run_parts(call, grid, stream);
        auto& host = *static_cast<HostParts*>(call.pinned);
        if (host.count != grid.blocks)
            host.count = grid.blocks; // an earlier call with this memory may still be reading it
        if (status.ok())
            status = cuda::from_cuda("cudaMemcpyAsync",
                                     cudaMemcpyAsync(host.parts, call.workspace, grid.blocks * sizeof(float),
                                                     cudaMemcpyDeviceToHost, stream));
        if (status.ok())
            status = cuda::from_cuda("cudaLaunchHostFunc", cudaLaunchHostFunc(stream, add_on_host, call.pinned));
        if (status.ok())
            status = cuda::from_cuda(
                "cudaMemcpyAsync", cudaMemcpyAsync(call.out, &host.sum, sizeof(float), cudaMemcpyHostToDevice, stream));
        return status;
    }
};

} // namespace detreduce::ladder
