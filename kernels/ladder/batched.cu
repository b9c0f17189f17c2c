#include "families.hpp"
#include "k0_divergent.cuh"
#include "k1_interleaved.cuh"
#include "k2_sequential.cuh"
#include "k3_barrier.cuh"
#include "k4_coarsened.cuh"
#include "k5_unrolled.cuh"
#include "k6_shuffle.cuh"
#include "k7_vectors.cuh"

namespace detreduce::ladder {

std::span<const Rung> batched_rungs() {
    constexpr Guarantee level = Guarantee::run_to_run;
    constexpr Family family = Family::batched;
    static constexpr Rung list[] = {
        rung<K0>("K0", "interleaved addressing, divergent", family, level, 1, false),
        rung<K1>("K1", "interleaved addressing, neighbouring threads", family, level, 1, false),
        rung<K2>("K2", "sequential addressing", family, level, 1, false),
        rung<K3>("K3", "one barrier less", family, level, 1, false),
        rung<K4>("K4", "threads add many elements first", family, level, 1, true),
        rung<K5LastWarp>("K5 last warp", "the last warp without barriers of the block", family, level, 1, true),
        rung<K5Unrolled>("K5 unrolled", "all of the tree unrolled", family, level, 1, true),
        rung<K6>("K6", "warp shuffles", family, level, 1, true),
        rung<K7>("K7", "loads of 128 bits", family, level, 1, true),
    };
    return list;
}

} // namespace detreduce::ladder
