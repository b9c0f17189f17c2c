// Blocks of a grid, and one grid after another.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

namespace detreduce::cuda {

/// Adds `count` to what has arrived, by one thread of a block behind a __syncthreads(), and returns
/// what was there before. What the block did before is visible to those who see the count, and what
/// they did is visible to the block behind the next __syncthreads(). An addition between two
/// __threadfence(), which order more than that, took 600 cycles longer.
__device__ __forceinline__ std::uint32_t count_arrival(std::uint32_t* arrived, std::uint32_t count) {
    std::uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(arrived), "r"(count) : "memory");
    return before;
}

/// The memory that a launch asked for, for each block.
__device__ __forceinline__ uint4* shared_of_launch() {
    extern __shared__ uint4 detreduce_shared[];
    return detreduce_shared;
}

/// A barrier for all blocks of a cooperative launch.
__device__ __forceinline__ void sync_grid() {
    cooperative_groups::this_grid().sync();
}

// Programmatic dependent launch (Hopper and later): the next kernel is made ready while this one
// runs, and waits until this one's results are there. Elsewhere the stream's order does it.

__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}
/// The first of two passes through a kernel that has little to do: pass 0 does it with nothing,
/// before it waits, so that its instructions are there when pass 1 has something. Where kernels do
/// not overlap that would only take time.
__device__ __forceinline__ constexpr int first_pass() {
#if __CUDA_ARCH__ >= 900
    return 0;
#else
    return 1;
#endif
}

} // namespace detreduce::cuda
