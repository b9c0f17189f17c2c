// Products of rows, columns and segments.
#pragma once

#include "groups/launch.cuh"
#include "product/launch.hpp"
#include "product/level.cuh"

namespace detreduce::cuda {

template <class T, class Acc>
Status multiply_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                       const DeviceTraits& device) {
    static_assert(sizeof(Acc) == product_accumulator_bytes(dtype_of<T>));
    const FlatLaunch<T, Acc> flat(plan, in.x, out, workspace, stream, device);
    const Groups groups = Groups::of(plan, in.offsets);
    const bool aligned = rows_are_aligned(flat, groups);
    if constexpr (fp::is_narrow<T>) {
        if (aligned) return GroupLaunch<T, FactorLevel<T, Acc, true>>{flat, {flat.x}, groups, workspace}.run_rows();
    }
    using Level = FactorLevel<T, Acc, false>;
    return GroupLaunch<T, Level>{flat, Level::Items::pointer(flat.x, nullptr, aligned), groups, workspace}.run();
}

template <class T>
Status launch_product_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                             const DeviceTraits& device) {
    using V = fp::Arithmetic<T>;
    if (plan.request().method == Method::compensated)
        return multiply_groups<T, acc::Product<V, true>>(plan, in, out, workspace, stream, device);
    return multiply_groups<T, acc::Product<V, false>>(plan, in, out, workspace, stream, device);
}

} // namespace detreduce::cuda
