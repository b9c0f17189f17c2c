// Products, by the kernels and in the order of sums, with the accumulators of acc/product.hpp.
#pragma once

#include "sequence/launch_groups.cuh"
#include "sequence/product/launch.hpp"
#include "sequence/product/level.cuh"

namespace detreduce::cuda {

template <class T, class Acc>
Status multiply(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                const DeviceTraits& device) {
    static_assert(sizeof(Acc) == product_accumulator_bytes(dtype_of<T>));
    const FlatLaunch<T, Acc> flat(plan, in.x, out, workspace, stream, device);
    const Groups groups = Groups::of(plan, in.offsets);
    const bool aligned = all_aligned(flat), nothing = flat.n() == 0 && in.offsets == nullptr;
    if constexpr (fp::is_narrow<T>) { // which has no registers to spare for the other way
        if (aligned && !nothing)
            return GroupLaunch<T, FactorLevel<T, Acc, true>>{flat, {flat.x}, groups, workspace}.run_whole();
    }
    using Level = FactorLevel<T, Acc, false>;
    const GroupLaunch<T, Level> launch{flat, Level::Items::pointer(flat.x, nullptr, aligned), groups, workspace};
    return nothing ? launch.run_small({}) : launch.run(); // a product of nothing is 1
}

template <class T>
Status launch_product(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                      const DeviceTraits& device) {
    using V = fp::Arithmetic<T>;
    if (plan.request().method == Method::compensated)
        return multiply<T, acc::Product<V, true>>(plan, in, out, workspace, stream, device);
    return multiply<T, acc::Product<V, false>>(plan, in, out, workspace, stream, device);
}

} // namespace detreduce::cuda
