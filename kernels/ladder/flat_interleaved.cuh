// PMPP fig. 10.6, GPU MODE lecture 9, "simple_sum_reduction": the bottom of the flat ladder.
//
// What it does: a tree in global memory, in place. At stride s, threads whose number is a multiple
// of 2s add what lies s further; log₂ steps, a barrier before each.
// What is wrong with it: every step goes to global memory, and in every step all warps stay busy
// with ever fewer of their threads (divergence).
// Changed against the literature: there the tree overwrites the input and one block is all there
// is, so n is at most 2048. Here each block copies while it adds for the first time, to scratch of
// its own, and its sum goes to the next level, a launch of the same kernel, until one remains.
// Measured: table "The ladder" of `detreduce ladder`, rung "interleaved".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void flat_interleaved(Level level) {
    const Piece piece = piece_of(level, 2 * blockDim.x);
    float* const tree = level.scratch + std::uint64_t{blockIdx.x} * blockDim.x;
    const std::uint32_t t = threadIdx.x;
    tree[t] = element(piece, 2 * t) + element(piece, 2 * t + 1);
    for (std::uint32_t stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        if (t % (2 * stride) == 0) tree[t] += tree[t + stride];
    }
    if (t == 0) level.out[blockIdx.x] = tree[0];
}

using FlatInterleaved = ByLevels<flat_interleaved, two_with_scratch>;

} // namespace detreduce::ladder
