// Three levels, ending behind a barrier of the grid.
//
// What the ending is: each block stores its sum, all blocks wait for each other
// (cooperative_groups::this_grid().sync()), and the first adds the sums up.
// For it: one launch, no counter to zero, the bits of the second kernel. Against it: all blocks
// must be resident at once, a cooperative launch takes longer to begin, and all wait for the
// slowest.
// Measured: tables "The ladder" and "How the grid ends" of `detreduce ladder`, rung "cooperative".
#pragma once

#include <cooperative_groups.h>

#include "three_level.cuh"

namespace detreduce::ladder {

__global__ void three_cooperative(const float* x, std::uint64_t n, float* parts, float* out) {
    const float part = block_part(x, n);
    if (threadIdx.x == 0) parts[blockIdx.x] = part;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x != 0) return;
    const float sum = sum_of_parts(parts, gridDim.x);
    if (threadIdx.x == 0) *out = sum;
}

struct EndsInGridSync {
    static Needs needs(const Shape& shape, const Settings& settings) {
        return needs_of_grid(three_cooperative, shape, settings, 1, additions_of_parts);
    }
    static Status run(const Call& call, const Needs&, Stream stream) {
        GridOfBlocks grid{};
        const Status status = grid_for(three_cooperative, call.shape, call.settings, grid.blocks);
        if (!status.ok()) return status;
        return cuda::launch_kernel(cuda::LaunchKind::cooperative, three_cooperative, dim3(grid.blocks),
                                   call.settings.threads, 0, stream, call.x, call.shape.length,
                                   static_cast<float*>(call.workspace), call.out);
    }
};

} // namespace detreduce::ladder
