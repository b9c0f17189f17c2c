// product_<dtype>.cu: products, by the kernels and in the order of sums, with the accumulators of acc/product.hpp.
#pragma once

#include <detreduce/acc/product.hpp>

#include "flat/launch.cuh"
#include "product/launch.hpp"

namespace detreduce::cuda {

/// The input: elements are multiplied.
template <class T, class AccT, bool Aligned>
struct FactorLevel {
    using Item = T;
    using Pointer = OneInput<T, Aligned>;
    using Acc = AccT;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = true;
    static __device__ __forceinline__ Acc as_accumulator(const Item& x) { return Acc::of(widen(x)); }
    static __device__ __forceinline__ void take(Acc& a, const Item& x) { a.merge(as_accumulator(x)); }
    /// 1, which changes nothing.
    static __device__ __forceinline__ Item absent() {
        return fp::from_bits<T>(static_cast<fp::Bits<T>>(static_cast<fp::Bits<T>>(fp::Format<T>::max_exponent)
                                                         << (fp::Format<T>::precision - 1)));
    }
};

/// The product of nothing.
template <class Acc>
__global__ void one_kernel(void* out, DType output) {
    acc::finish_into(out, output, Acc::absent());
}

template <class T, class Acc>
Status multiply(const Plan& plan, const T* x, void* out, void* workspace, Stream stream, const DeviceTraits& device) {
    static_assert(sizeof(Acc) == product_accumulator_bytes(dtype_of<T>));
    if (plan.request().n == 0)
        return launch_kernel(LaunchKind::plain, one_kernel<Acc>, 1, 1, 0, stream, out, plan.output());
    const FlatLaunch<T, Acc> launch(plan, x, out, workspace, stream, device);
    if constexpr (sizeof(T) == 2) { // which has no registers to spare for the other way
        if (launch.aligned()) return launch.template two_pass<FactorLevel<T, Acc, true>, 8>({x});
    }
    return launch.template two_pass<FactorLevel<T, Acc, false>, 8>({x, launch.aligned()});
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
