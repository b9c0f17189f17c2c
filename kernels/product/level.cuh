// Elements as factors, for the kernels of sums.
#pragma once

#include <detreduce/acc/product.hpp>

#include "flat/tile.cuh"

namespace detreduce::cuda {

/// The input: elements are multiplied. `Aligned`: known to be; those of 16 bits are else loaded as if they never were.
template <class T, class AccT, bool Aligned>
struct FactorLevel {
    using Item = T;
    using Items = ItemOf<T, 1, Aligned ? Alignment::known : sizeof(T) == 2 ? Alignment::never : Alignment::seen>;
    using Pointer = typename Items::Pointer;
    using Acc = AccT;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = true;
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& x) {
        return Acc::of(widen(x));
    }
    template <class X>
    static __device__ __forceinline__ void take(Acc& a, const X& x) {
        a.merge(as_accumulator(x));
    }
    static __device__ __forceinline__ Acc of_nothing() { return Acc::absent(); }
    /// 1, which changes nothing.
    static __device__ __forceinline__ Item absent() {
        return fp::from_bits<T>(static_cast<fp::Bits<T>>(static_cast<fp::Bits<T>>(fp::Format<T>::max_exponent)
                                                         << (fp::Format<T>::precision - 1)));
    }
};

} // namespace detreduce::cuda
