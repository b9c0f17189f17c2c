// How the block that arrives last is found.
#pragma once

#include <cstdint>

namespace detreduce::cuda {

/// Adds `count` to what has arrived, by one thread of a block behind a __syncthreads(), and returns what was there before. What the block did before is
/// visible to those who see the count, and what they did is visible to the block behind the next __syncthreads(). An addition between two
/// __threadfence(), which order more than that, took 600 cycles longer.
__device__ __forceinline__ std::uint32_t count_arrival(std::uint32_t* arrived, std::uint32_t count) {
    std::uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(arrived), "r"(count) : "memory");
    return before;
}

} // namespace detreduce::cuda
