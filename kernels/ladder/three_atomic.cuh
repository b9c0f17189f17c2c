// Three levels, ending in an atomic.
//
// What the ending is: the result is zeroed, and each block adds its sum to it.
// For it: no partial sums in memory, nothing waits. Against it: the blocks' order is luck, and so
// are the bits (guarantee none); zeroing is a launch of its own.
// Measured: tables "The ladder" and "How the grid ends" of `detreduce ladder`, rung "atomic".
#pragma once

#include "three_level.cuh"

namespace detreduce::ladder {

__global__ void three_atomic(const float* x, std::uint64_t n, float* out) {
    const float part = block_part(x, n);
    if (threadIdx.x == 0) atomicAdd(out, part);
}

struct EndsInAtomic {
    static Needs needs(const Shape& shape, const Settings& settings) {
        return needs_of_grid(three_atomic, shape, settings, 2, one_after_the_other);
    }
    static Status run(const Call& call, const Needs&, Stream stream) {
        GridOfBlocks grid{};
        Status status = grid_for(three_atomic, call.shape, call.settings, grid.blocks);
        if (status.ok())
            status = cuda::from_cuda("cudaMemsetAsync", cudaMemsetAsync(call.out, 0, sizeof(float), stream));
        if (!status.ok()) return status;
        return cuda::launch_kernel(cuda::LaunchKind::plain, three_atomic, dim3(grid.blocks), call.settings.threads, 0,
                                   stream, call.x, call.shape.length, call.out);
    }
};

} // namespace detreduce::ladder
