// K6, warp shuffles.
//
// Changed: a warp adds up in registers (__shfl_down_sync), and shared memory has one number a warp,
// for the first warp to add up the same way: one barrier in all.
// Why it should help: no loads and stores of shared memory but a few, no barriers but one. On a
// kernel that waits for memory, little: it frees issue slots.
// Measured: table "The ladder" of `detreduce ladder`, rung "K6".
#pragma once

#include "levels.hpp"
#include "shuffle.cuh"

namespace detreduce::ladder {

__global__ void k6_shuffle(Level level) {
    const float sum = block_sum(thread_sum(level, piece_of(level, blockDim.x * level.per_thread)));
    if (threadIdx.x == 0) level.out[blockIdx.x] = sum;
}

using K6 = ByLevels<k6_shuffle, coarsened>;

} // namespace detreduce::ladder
