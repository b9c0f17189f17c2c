// Sums of elements.
#pragma once

#include "multiset/exact/launch.cuh"

namespace detreduce::cuda {

template <class T, bool Magnitude>
using ExactSumLaunch = ExactLaunch<exact::Tiles<T, exact::tile_vectors, Magnitude>>;

template <class T>
Status launch_exact(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                    const DeviceTraits& device) {
    const auto* const elements = static_cast<const T*>(x);
    const std::uint64_t n = plan.request().n;
    if (info(plan.request().op).transform == Transform::magnitude) {
        return ExactSumLaunch<T, true>{{elements, n}, stream, device}.reduce(plan, out, workspace);
    }
    return ExactSumLaunch<T, false>{{elements, n}, stream, device}.reduce(plan, out, workspace);
}

template <class T>
Status launch_exact_add(ExactState* state, const void* x, std::uint64_t n, Stream stream, const DeviceTraits& device,
                        std::uint32_t grid) {
    return ExactSumLaunch<T, false>{{static_cast<const T*>(x), n}, stream, device}.add_to(state->words().data(), grid);
}

} // namespace detreduce::cuda
