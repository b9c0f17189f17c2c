#include "families.hpp"
#include "three_atomic.cuh"
#include "three_cooperative.cuh"
#include "three_cpu.cuh"
#include "three_last_block.cuh"
#include "three_two_kernels.cuh"

namespace detreduce::ladder {

std::span<const Rung> three_level_rungs() {
    using enum Guarantee;
    constexpr Family family = Family::three_level;
    static constexpr Rung list[] = {
        rung<EndsInAtomic>("atomic", "threads, warps, blocks; ends in an atomic", family, none, 1, false),
        rung<EndsInSecondKernel>("second kernel", "ends in a second kernel", family, run_to_run, 1, false),
        rung<EndsInLastBlock>("last block", "ends in the block that arrives last", family, run_to_run, 1, false),
        rung<EndsInGridSync>("cooperative", "ends behind a barrier of the grid", family, run_to_run, 1, false),
        rung<EndsOnCpu>("CPU finish", "ends on the CPU", family, run_to_run, 1, false),
    };
    return list;
}

} // namespace detreduce::ladder
