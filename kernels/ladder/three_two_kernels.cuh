// Three levels, ending in a second kernel.
//
// What the ending is: each block stores its sum; a second launch, of one block, adds them up in a
// fixed order.
// For it: the simplest order there is, the same bits in each run of this launch. Against it: the
// gap between two launches, which little data feels.
// Measured: tables "The ladder" and "How the grid ends" of `detreduce ladder`, rung
// "second kernel".
#pragma once

#include "three_level.cuh"

namespace detreduce::ladder {

__global__ void three_parts(const float* x, std::uint64_t n, float* parts) {
    const float part = block_part(x, n);
    if (threadIdx.x == 0) parts[blockIdx.x] = part;
}

inline Status run_parts(const Call& call, const GridOfBlocks& grid, Stream stream) {
    return cuda::launch_kernel(cuda::LaunchKind::plain, three_parts, dim3(grid.blocks), call.settings.threads, 0,
                               stream, call.x, call.shape.length, static_cast<float*>(call.workspace));
}

struct EndsInSecondKernel {
    static Needs needs(const Shape& shape, const Settings& settings) {
        return needs_of_grid(three_parts, shape, settings, 2, additions_of_parts);
    }
    static Status run(const Call& call, const Needs&, Stream stream) {
        GridOfBlocks grid{};
        Status status = grid_for(three_parts, call.shape, call.settings, grid.blocks);
        if (status.ok()) status = run_parts(call, grid, stream);
        if (!status.ok()) return status;
        const auto* const parts = static_cast<const float*>(call.workspace);
        return cuda::launch_kernel(cuda::LaunchKind::plain, three_parts, dim3(1), call.settings.threads, 0, stream,
                                   parts, std::uint64_t{grid.blocks}, call.out);
    }
};

} // namespace detreduce::ladder
