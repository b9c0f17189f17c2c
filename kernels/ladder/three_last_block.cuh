// Three levels, ending in the last block.
//
// What the ending is: each block stores its sum and counts itself; the one that finds all others
// counted adds up the sums, in the order in which they lie.
// For it: one launch, whoever is last, and the bits of the second kernel. Against it: a counter
// that must be zero, here by a memset, and a counting per block.
// What makes it right: the count is an acquire and release at the scope of the device
// (arrival.cuh), so the last block sees what all others stored. Without (as in threadFenceReduction
// before it had its fence) it may read sums of the launch before.
// Measured: tables "The ladder" and "How the grid ends" of `detreduce ladder`, rung "last block".
#pragma once

#include "platform/grid.cuh"
#include "three_level.cuh"

namespace detreduce::ladder {

__global__ void three_last_block(const float* x, std::uint64_t n, float* parts, std::uint32_t* arrived, float* out) {
    __shared__ bool last;
    const float part = block_part(x, n);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        last = cuda::count_arrival(arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    const float sum = sum_of_parts(parts, gridDim.x);
    if (threadIdx.x == 0) *out = sum;
}

struct EndsInLastBlock {
    static Needs needs(const Shape& shape, const Settings& settings) {
        return needs_of_grid(three_last_block, shape, settings, 2, additions_of_parts);
    }
    static Status run(const Call& call, const Needs&, Stream stream) {
        GridOfBlocks grid{};
        Status status = grid_for(three_last_block, call.shape, call.settings, grid.blocks);
        auto* const parts = static_cast<float*>(call.workspace);
        auto* const arrived = reinterpret_cast<std::uint32_t*>(static_cast<char*>(call.workspace) + grid.counter());
        if (status.ok())
            status = cuda::from_cuda("cudaMemsetAsync", cudaMemsetAsync(arrived, 0, sizeof *arrived, stream));
        if (!status.ok()) return status;
        return cuda::launch_kernel(cuda::LaunchKind::plain, three_last_block, dim3(grid.blocks), call.settings.threads,
                                   0, stream, call.x, call.shape.length, parts, arrived, call.out);
    }
};

} // namespace detreduce::ladder
