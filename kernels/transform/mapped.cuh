// Terms of a caller's function for the flat kernels: they are computed as the elements are loaded,
// so the kernels see terms alone, and what is absent never gets to the function.
#pragma once

#include <type_traits>

#include "sequence/kernels.cuh"

namespace detreduce::cuda {

/// An element as the number that the function takes. Not tile.cuh's widen(): that one is volatile,
/// which would make each load wait for the one before it, and turns every NaN into one, where the
/// CPU's keeps its bits.
template <class T>
__device__ __forceinline__ fp::Arithmetic<T> argument(T x) {
    return fp::widen(x);
}
__device__ __forceinline__ float argument(float16 x) {
    const float wide = f32_of_f16(x.bits); // fp::widen in one instruction
    const std::uint32_t nan = (std::uint32_t{x.bits} & 0x8000u) << 16 | 0x7f800000u | (x.bits & 0x3ffu) << 13;
    return (x.bits & 0x7fffu) > 0x7c00u ? __uint_as_float(nan) : wide;
}

/// Does F compute the terms of a pack in one call, f.terms(pack)? As calls they would take longer
/// one by one.
template <class F>
concept TakesPacks = requires {
    F::takes_packs;
};

/// F gives a NaN for every NaN, and only sums see it, which do not tell NaNs apart. So f16 may be
/// widened by one instruction, which changes the bits of NaNs.
template <class F>
concept TakesAnyNan = requires {
    F::takes_any_nan;
};
template <class F, class T>
__device__ __forceinline__ fp::Arithmetic<T> argument_of(T x) {
    if constexpr (TakesAnyNan<F> && std::is_same_v<T, float16>) return f32_of_f16(x.bits);
    return argument(x);
}

/// Where the elements are, and what is computed of them. The function travels by value, with its
/// members.
template <class T, class F, int Inputs, Alignment A = Alignment::seen>
struct Mapped {
    using V = fp::Arithmetic<T>;
    using Elements = typename ItemOf<T, Inputs, A>::Pointer;
    using Element = typename ItemOf<T, Inputs, A>::type;
    Elements elements;
    F f;

    __device__ __forceinline__ Mapped operator+(std::int64_t i) const { return {elements + i, f}; }
    __device__ __forceinline__ V term(const Element& e) const {
        if constexpr (Inputs == 3) {
            return f(argument(e.x), argument(e.y), argument(e.z));
        } else if constexpr (Inputs == 2) {
#if defined(__CUDA_ARCH__) // lambdas for the device have their true type only there
            static_assert(std::is_same_v<decltype(f(V{}, V{})), V>, "the function must give the type that it takes");
#endif
            return f(argument_of<F>(e.x), argument_of<F>(e.y));
        } else {
#if defined(__CUDA_ARCH__)
            static_assert(std::is_same_v<decltype(f(V{})), V>, "the function must give the type that it takes");
#endif
            return f(argument(e));
        }
    }
    template <int K>
    __device__ __forceinline__ Pack<V, K> terms(const Pack<Element, K>& raw) const {
        if constexpr (TakesPacks<F>) {
            return f.terms(raw);
        } else {
            Pack<V, K> all;
#pragma unroll
            for (int k = 0; k < K; ++k)
                all.v[k] = term(raw.v[k]);
            return all;
        }
    }
};

/// As load.cuh says of elements.
template <Source S, class Item, int K, class T, class F, int Inputs, Alignment A>
__device__ __forceinline__ Pack<Item, K> load_pack(const Mapped<T, F, Inputs, A>& p) {
    return p.terms(load_pack<S, typename Mapped<T, F, Inputs, A>::Element, K>(p.elements));
}
template <Source S, class T, class F, int Inputs, Alignment A>
__device__ __forceinline__ fp::Arithmetic<T> load_item(const Mapped<T, F, Inputs, A>& p) {
    return p.term(load_item<S>(p.elements));
}

/// The first level: terms are added as elements are, in the order of elements of T.
template <class T, class AccT, class F, int Inputs, Alignment A = Alignment::seen>
struct MappedLevel {
    using Item = fp::Arithmetic<T>;
    using Pointer = Mapped<T, F, Inputs, A>;
    using Acc = AccT;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = false;
    static __device__ __forceinline__ void take(Acc& a, const Item& x) { a.add(x); }
    static __device__ __forceinline__ Acc as_accumulator(const Item& x) { return Acc::of(x); }
    /// Stands for a term that is not there.
    static __device__ __forceinline__ Item identity() { return Item(-0.0); }
};
template <class T, class Acc, class F, int Inputs, Alignment A>
inline constexpr int blocks_at_once<MappedLevel<T, Acc, F, Inputs, A>> = policy::computed_terms.blocks;

} // namespace detreduce::cuda
