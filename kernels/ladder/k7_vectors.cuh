// K7, loads of 128 bits.
//
// Changed: a thread loads a float4 at a time, four elements with one instruction, where the
// literature's K6 loads four times.
// Why it should help: a quarter of the load instructions, and more bytes in flight a thread. At 128
// threads a block and full occupancy the rungs below have enough in flight already; where they have
// not, as with few threads, this is the step that closes the gap to reading.
// Changed against the literature: rows need not begin at 16 bytes. What lies before the first such
// address is added by itself (vector_sum.cuh), so the order, and with it the bits, depends on where
// the row lies.
// Measured: table "The ladder" of `detreduce ladder`, rung "K7".
#pragma once

#include "levels.hpp"
#include "shuffle.cuh"
#include "vector_sum.cuh"

namespace detreduce::ladder {

__global__ void k7_vectors(Level level) {
    const Piece piece = piece_of(level, blockDim.x * level.per_thread);
    const float sum = block_sum(vector_sum(piece.x, piece.n, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) level.out[blockIdx.x] = sum;
}

/// A vector is two additions among its four and one to the sum; up to ⌈per_thread / 4⌉ vectors a
/// thread, and what lies before and behind.
inline Block of_vectors(const Settings& s) {
    return {s.threads * s.per_thread, (s.per_thread + 3) / 4 + 4 + log2_of(s.threads), 0};
}

using K7 = ByLevels<k7_vectors, of_vectors>;

} // namespace detreduce::ladder
