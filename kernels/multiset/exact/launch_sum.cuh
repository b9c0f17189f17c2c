// Sums of elements.
#pragma once

#include "multiset/exact/launch.cuh"

namespace detreduce::cuda {

template <class T, bool Magnitude>
using ExactSumLaunch = ExactLaunch<exact::Tiles<T, exact::tile_vectors, Magnitude>>;

template <class T>
Status launch_exact(const Run& run) {
    const auto* const x = static_cast<const T*>(run.in.x);
    const std::uint64_t n = run.request().n;
    const bool magnitude = info(run.request().op).transform == Transform::magnitude;
    return magnitude ? ExactSumLaunch<T, true>{run, {x, n}}.reduce() : ExactSumLaunch<T, false>{run, {x, n}}.reduce();
}

template <class T>
Status launch_exact_add(const Run& run, ExactState* state) {
    const auto* const x = static_cast<const T*>(run.in.x);
    return ExactSumLaunch<T, false>{run, {x, run.request().n}}.add_to(state->words().data());
}

} // namespace detreduce::cuda
