// K1, interleaved addressing without divergence (Harris, reduction #2).
//
// Changed: thread t does the t-th addition of each step, so that those at work are neighbours.
// Why it should help: whole warps retire, instead of all running for few threads; and there is no
// %.
// Still wrong: neighbours read numbers 2s apart, which share banks of shared memory: 2, 4, … up
// to 32 of them wait for each other.
// Measured: table "The ladder" of `detreduce ladder`, rung "K1".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void k1_interleaved(Level level) {
    const Piece piece = piece_of(level, blockDim.x);
    shared[threadIdx.x] = element(piece, threadIdx.x);
    __syncthreads();
    for (std::uint32_t stride = 1; stride < blockDim.x; stride *= 2) {
        const std::uint32_t i = 2 * stride * threadIdx.x;
        if (i < blockDim.x) shared[i] += shared[i + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) level.out[blockIdx.x] = shared[0];
}

using K1 = ByLevels<k1_interleaved, one_a_thread>;

} // namespace detreduce::ladder
