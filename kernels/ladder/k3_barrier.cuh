// K3, the barrier at the beginning of each step ("Reduction (Sum): part 2", kernel 3).
//
// Changed: the barrier behind the load and that at the end of each step are one, at the beginning
// of each step: one less in all.
// Why that is right: after the last step nobody but thread 0 reads, and it reads what it wrote
// itself.
// Why it should help: with one element a thread, a block of 128 threads is seven steps and eight
// barriers; the one that goes is an eighth of them.
// Measured: table "The ladder" of `detreduce ladder`, rung "K3".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void k3_barrier(Level level) {
    const Piece piece = piece_of(level, blockDim.x);
    shared[threadIdx.x] = element(piece, threadIdx.x);
    sequential_tree();
    if (threadIdx.x == 0) level.out[blockIdx.x] = shared[0];
}

using K3 = ByLevels<k3_barrier, one_a_thread>;

} // namespace detreduce::ladder
