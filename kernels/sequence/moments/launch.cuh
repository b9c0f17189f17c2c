// Mean and variance by `tree`.
#pragma once

#include "sequence/launch_groups.cuh"
#include "sequence/moments/tile.cuh"

namespace detreduce::cuda {

template <class T, bool Aligned>
requires(Aligned ||
         fp::is_f32<T>) inline constexpr int blocks_at_once<MomentLevel<T, Aligned>> = policy::aligned_moments.blocks;

template <class T>
Status launch_moments(const Run& run) {
    const FlatLaunch<T, acc::Moments<fp::Arithmetic<T>>> flat(run);
    const bool aligned = all_aligned(flat);
    if constexpr (fp::is_narrow<T>) { // which has no registers to spare for the other way
        if (aligned) return GroupLaunch<T, MomentLevel<T, true>>{flat, {flat.x}}.run_whole();
    }
    using Level = MomentLevel<T, false>;
    return GroupLaunch<T, Level>{flat, Level::Items::pointer(flat.x, nullptr, aligned)}.run();
}

} // namespace detreduce::cuda
