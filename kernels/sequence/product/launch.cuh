// Products, by the kernels and in the order of sums, with the accumulators of acc/product.hpp.
#pragma once

#include "sequence/launch_groups.cuh"
#include "sequence/product/level.cuh"

namespace detreduce::cuda {

template <class T, class Acc>
Status multiply(const Run& run) {
    static_assert(sizeof(Acc) == product_accumulator_bytes(dtype_of<T>));
    const FlatLaunch<T, Acc> flat(run);
    const bool aligned = all_aligned(flat), nothing = flat.n() == 0 && run.in.offsets == nullptr;
    if constexpr (fp::is_narrow<T>) { // which has no registers to spare for the other way
        if (aligned && !nothing) return GroupLaunch<T, FactorLevel<T, Acc, true>>{flat, {flat.x}}.run_whole();
    }
    using Level = FactorLevel<T, Acc, false>;
    const GroupLaunch<T, Level> launch{flat, Level::Items::pointer(flat.x, nullptr, aligned)};
    return nothing ? launch.run_small({}) : launch.run(); // a product of nothing is 1
}

template <class T>
Status launch_product(const Run& run) {
    using V = fp::Arithmetic<T>;
    const bool keeps_errors = run.request().method == Method::compensated;
    return keeps_errors ? multiply<T, acc::Product<V, true>>(run) : multiply<T, acc::Product<V, false>>(run);
}

} // namespace detreduce::cuda
