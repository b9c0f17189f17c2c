// PMPP fig. 10.9, "convergent".
//
// Changed: at each step the lower half of the threads adds, so that those at work are neighbours,
// and warps that are done stay done; strides halve.
// Why it should help: no divergence until the last five steps, and neighbours read neighbours, so
// that loads of a warp coalesce.
// Still wrong: every step goes to global memory.
// Measured: table "The ladder" of `detreduce ladder`, rung "converged".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void flat_converged(Level level) {
    const Piece piece = piece_of(level, 2 * blockDim.x);
    float* const tree = level.scratch + std::uint64_t{blockIdx.x} * blockDim.x;
    const std::uint32_t t = threadIdx.x;
    tree[t] = element(piece, t) + element(piece, t + blockDim.x);
    for (std::uint32_t stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) tree[t] += tree[t + stride];
    }
    if (t == 0) level.out[blockIdx.x] = tree[0];
}

using FlatConverged = ByLevels<flat_converged, two_with_scratch>;

} // namespace detreduce::ladder
