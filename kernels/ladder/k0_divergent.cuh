// K0, interleaved addressing (Harris, reduction #1; "Reduction (Sum): part 2", kernel 0): the
// bottom of the batched ladder. One block a row.
//
// What it does: an element a thread into shared memory, then a tree in place; at stride s, threads
// whose number is a multiple of 2s add what lies s further.
// What is wrong with it: in every step each warp runs for ever fewer of its threads, and % is slow.
// Changed against the literature: there a row has as many elements as a block has threads. Here a
// longer one is cut, and its parts go through the same kernel again.
// Measured: tables "The ladder" and "Threads per block" of `detreduce ladder`, rung "K0", beside
// what was published.
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void k0_divergent(Level level) {
    const Piece piece = piece_of(level, blockDim.x);
    const std::uint32_t t = threadIdx.x;
    shared[t] = element(piece, t);
    __syncthreads();
    for (std::uint32_t stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0) shared[t] += shared[t + stride];
        __syncthreads();
    }
    if (t == 0) level.out[blockIdx.x] = shared[0];
}

using K0 = ByLevels<k0_divergent, one_a_thread>;

} // namespace detreduce::ladder
