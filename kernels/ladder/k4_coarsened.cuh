// K4, thread coarsening (Harris, reductions #4 and #7).
//
// Changed: a thread adds Settings::per_thread elements in a register before the tree begins, and a
// row is as much longer.
// Why it should help: below, each element pays for its share of seven barriers; here 32 elements
// share one. And a thread has loads in flight while it adds. From here on the kernel waits for
// memory. This is the big step of the ladder; what follows polishes.
// Coalesced: neighbouring threads read neighbouring elements. Not coalesced
// (Settings::coalesced = false): each thread reads elements of its own, next to each other, so that
// a warp's loads spread over 32 lines at once; caches make up for most of it.
// Measured: tables "The ladder", "Elements per thread", "Coalesced or not" of `detreduce ladder`,
// rung "K4".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

__global__ void k4_coarsened(Level level) {
    shared[threadIdx.x] = thread_sum(level, piece_of(level, blockDim.x * level.per_thread));
    sequential_tree();
    if (threadIdx.x == 0) level.out[blockIdx.x] = shared[0];
}

using K4 = ByLevels<k4_coarsened, coarsened>;

} // namespace detreduce::ladder
