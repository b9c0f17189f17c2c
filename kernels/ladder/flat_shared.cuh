// PMPP fig. 10.11, "shared memory".
//
// Changed: what is added lies in shared memory; global memory is read once, by the first addition,
// and written once a block.
// Why it should help: partial sums never leave the multiprocessor.
// Still wrong: a thread adds two elements and then mostly waits at barriers.
// Measured: table "The ladder" of `detreduce ladder`, rung "shared memory".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void flat_shared(Level level) {
    const Piece piece = piece_of(level, 2 * blockDim.x);
    shared[threadIdx.x] = element(piece, threadIdx.x) + element(piece, threadIdx.x + blockDim.x);
    sequential_tree();
    if (threadIdx.x == 0) level.out[blockIdx.x] = shared[0];
}

using FlatShared = ByLevels<flat_shared, two_a_thread>;

} // namespace detreduce::ladder
