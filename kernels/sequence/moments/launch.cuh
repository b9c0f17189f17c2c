// Mean and variance by `tree`.
#pragma once

#include "sequence/launch_groups.cuh"
#include "sequence/moments/launch.hpp"
#include "sequence/moments/level.cuh"

namespace detreduce::cuda {

/// Arrays and rows have a tile of their own, which is faster.
template <class T>
Status launch_moments(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                      const DeviceTraits& device) {
    const Shape shape = plan.request().shape;
    if (detail::is_across(shape) || shape == Shape::segments) {
        using Level = MomentLevel<T>;
        static_assert(sizeof(typename Level::Acc) == counted_moments_bytes(dtype_of<T>));
        const FlatLaunch<T, typename Level::Acc> flat(plan, in.x, out, workspace, stream, device);
        const auto input = Level::Items::pointer(flat.x, nullptr, false);
        return GroupLaunch<T, Level>{flat, input, Groups::of(plan, in.offsets), workspace}.run();
    }
    const FlatLaunch<T, acc::Moments<fp::Arithmetic<T>>> flat(plan, in.x, out, workspace, stream, device);
    const bool aligned = all_aligned(flat);
    if constexpr (fp::is_narrow<T>) { // which has no registers to spare for the other way
        if (aligned) return flat.template two_pass<MomentsInput<T, true>>({flat.x});
    }
    return flat.template two_pass<MomentsInput<T, false>>({flat.x, aligned});
}

} // namespace detreduce::cuda
