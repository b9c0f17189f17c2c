// Mean and variance by `tree` of columns and segments. Rows have kernels of their own, which are faster.
#pragma once

#include "groups/launch.cuh"
#include "moments/launch.hpp"
#include "moments/level.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_moments_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                             const DeviceTraits& device) {
    using Level = MomentLevel<T>;
    using Acc = typename Level::Acc;
    static_assert(sizeof(Acc) == counted_moments_bytes(dtype_of<T>));
    const FlatLaunch<T, Acc> flat(plan, in.x, out, workspace, stream, device);
    return GroupLaunch<T, Level>{flat, Level::Items::pointer(flat.x, nullptr, false), Groups::of(plan, in.offsets),
                                 workspace}
        .run();
}

} // namespace detreduce::cuda
