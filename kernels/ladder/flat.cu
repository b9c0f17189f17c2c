#include "families.hpp"
#include "flat_interleaved.cuh"
#include "flat_converged.cuh"
#include "flat_shared.cuh"
#include "flat_segmented.cuh"
#include "flat_coarsened.cuh"

namespace detreduce::ladder {

std::span<const Rung> flat_rungs() {
    using enum Guarantee;
    constexpr Family family = Family::flat;
    static constexpr Rung list[] = {
        rung<FlatInterleaved>("interleaved", "tree in global memory, by threads that are multiples of the stride",
                              family, run_to_run, 1, false),
        rung<FlatConverged>("converged", "neighbouring threads add", family, run_to_run, 1, false),
        rung<FlatShared>("shared memory", "tree in shared memory", family, run_to_run, 1, false),
        rung<FlatSegmented>("segmented", "blocks add to the result by atomics", family, none, 1, false),
        rung<FlatCoarsened>("coarsened", "threads add many elements first", family, none, 1, true),
    };
    return list;
}

} // namespace detreduce::ladder
