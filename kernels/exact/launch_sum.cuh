// exact_<dtype>.cu: sums of elements.
#pragma once

#include "exact/launch.cuh"

namespace detreduce::cuda {

template <class T>
using ExactSumLaunch = ExactLaunch<exact::Tiles<T, exact::tile_vectors>>;

template <class T>
Status launch_exact(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                    const DeviceTraits& device) {
    return ExactSumLaunch<T>{{static_cast<const T*>(x), plan.request().n}, stream, device}.reduce(plan, out, workspace);
}

template <class T>
Status launch_exact_add(ExactState* state, const void* x, std::uint64_t n, Stream stream, const DeviceTraits& device,
                        std::uint32_t grid) {
    return ExactSumLaunch<T>{{static_cast<const T*>(x), n}, stream, device}.add_to(state->words().data(), grid);
}

} // namespace detreduce::cuda
