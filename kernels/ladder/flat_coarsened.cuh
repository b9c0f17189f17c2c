// PMPP fig. 10.15, "thread coarsening"; the factor is Settings::per_thread.
//
// Changed: a thread adds many elements before the tree begins.
// Why it should help: barriers, idle threads and atomics are shared by more elements, and
// independent loads are in flight while a thread adds. The big step of this ladder, as of the next.
// The bits are luck, as below.
// Measured: tables "The ladder" and "Elements per thread" of `detreduce ladder`, rung "coarsened".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void flat_coarsened(Level level) {
    const Piece piece = piece_of(level, blockDim.x * level.per_thread);
    shared[threadIdx.x] = thread_sum(level, piece);
    sequential_tree();
    if (threadIdx.x == 0) atomicAdd(level.out + piece.row, shared[0]);
}

using FlatCoarsened = ByAtomics<flat_coarsened, coarsened>;

} // namespace detreduce::ladder
