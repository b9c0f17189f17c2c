// PMPP fig. 10.13, "segmented, with atomics".
//
// Changed: blocks add their sums to the result with atomicAdd, instead of leaving them to another
// launch.
// Why it should help: one pass, no partial sums in memory. The launches are as many as before for
// little data: the result must be zeroed first.
// What it costs: blocks end in another order in each run, and float additions are not associative.
// The bits are luck (guarantee none). This is the race that the rung is there to show: no tool
// reports it, as atomics are no data race, and the column of distinct bits does.
// Measured: table "The ladder" of `detreduce ladder`, rung "segmented".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void flat_segmented(Level level) {
    const Piece piece = piece_of(level, 2 * blockDim.x);
    shared[threadIdx.x] = element(piece, threadIdx.x) + element(piece, threadIdx.x + blockDim.x);
    sequential_tree();
    if (threadIdx.x == 0) atomicAdd(level.out + piece.row, shared[0]);
}

using FlatSegmented = ByAtomics<flat_segmented, two_a_thread>;

} // namespace detreduce::ladder
