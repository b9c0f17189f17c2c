// Products, by the kernels and in the order of sums, with the accumulators of acc/product.hpp.
#pragma once

#include "flat/launch.cuh"
#include "product/launch.hpp"
#include "product/level.cuh"

namespace detreduce::cuda {

/// Products of nothing.
template <class Acc>
__global__ void ones_kernel(const Results results, std::uint64_t count) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads)
        results.finish(i, Acc::absent(), 0);
}

template <class T, class Acc>
Status multiply(const Plan& plan, const T* x, void* out, void* workspace, Stream stream, const DeviceTraits& device) {
    static_assert(sizeof(Acc) == product_accumulator_bytes(dtype_of<T>));
    const FlatLaunch<T, Acc> launch(plan, x, out, workspace, stream, device);
    if (plan.request().n == 0) {
        const std::uint64_t blocks = std::min<std::uint64_t>(spec::tiles(plan.groups(), max_block), 4096);
        return launch.launch(LaunchKind::plain, ones_kernel<Acc>, launch.grid(blocks), 0, launch.levels.results,
                             plan.groups());
    }
    if constexpr (fp::is_narrow<T>) { // which has no registers to spare for the other way
        if (launch.aligned()) return launch.template two_pass<FactorLevel<T, Acc, true>, 8>({x});
    }
    using Level = FactorLevel<T, Acc, false>;
    return launch.template two_pass<Level, 8>(Level::Items::pointer(x, nullptr, launch.aligned()));
}

template <class T>
Status launch_product(const Plan& plan, const void* elements, void* out, void* workspace, Stream stream,
                      const DeviceTraits& device) {
    using V = fp::Arithmetic<T>;
    const auto* const x = static_cast<const T*>(elements);
    if (plan.request().method == Method::compensated)
        return multiply<T, acc::Product<V, true>>(plan, x, out, workspace, stream, device);
    return multiply<T, acc::Product<V, false>>(plan, x, out, workspace, stream, device);
}

} // namespace detreduce::cuda
