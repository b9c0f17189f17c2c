// K2, sequential addressing (Harris, reduction #3).
//
// Changed: strides halve instead of doubling, so that those at work read neighbouring numbers.
// Why it should help: no two threads of a warp share a bank. (Harris measured a factor of two,
// in 2007; what was published for an RTX 5070 Ti is no change.)
// Measured: table "The ladder" of `detreduce ladder`, rung "K2".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void k2_sequential(Level level) {
    const Piece piece = piece_of(level, blockDim.x);
    shared[threadIdx.x] = element(piece, threadIdx.x);
    __syncthreads();
    for (std::uint32_t stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) level.out[blockIdx.x] = shared[0];
}

using K2 = ByLevels<k2_sequential, one_a_thread>;

} // namespace detreduce::ladder
