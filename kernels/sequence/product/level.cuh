// Elements as factors, for the kernels of sums.
#pragma once

#include <detreduce/acc/product.hpp>

#include "sequence/tile.cuh"

namespace detreduce::cuda {

/// The input: elements are multiplied. `Aligned`: known to be; those of 16 bits are else loaded as
/// if they never were.
template <class T, class AccT, bool Aligned>
struct FactorLevel {
    using Item = T;
    using Items = ItemOf<T, 1, Aligned ? Alignment::known : fp::is_narrow<T> ? Alignment::never : Alignment::seen>;
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
    /// All rows of a lane, one after the other. Of normal numbers exponents are added apart from
    /// the significands, which are put in order once, at the end: eight of them are below 2^8, and
    /// powers of two change no rounding.
    template <class ItemAt>
    static __device__ __forceinline__ Acc fold_full(const ItemAt& item) {
        using V = typename Acc::Value;
        constexpr std::uint32_t one = 1u << high_shift<V>, exponents = 0x7fffffffu & -one;
        constexpr int rows = spec::rows_per_chunk, bias = fp::Format<V>::max_exponent;
        Factors<V> factors;
        std::uint32_t fields = 0, outside = 0;
        V product = 1;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const V x = widen(item(r));
            factors.v[r] = x;
            const std::uint32_t high = high_word(x), field = high & exponents;
            fields += field >> high_shift<V>;
            outside = max(outside, field - one); // of zeros and subnormals it wraps around
            const V significand = with_high_word(x, (high & ~exponents) | bias * one);
            product = r == 0 ? significand : product * significand;
        }
        if (outside >= exponents - one) return fold_any(factors);
        Acc a = Acc::of(product);
        a.exponent += static_cast<std::int64_t>(fields) - rows * bias;
        return a;
    }
    static __device__ __forceinline__ Acc of_nothing() {
        return Acc::identity();
    }
    /// 1, which changes nothing.
    static __device__ __forceinline__ Item identity() {
        return fp::from_bits<T>(fp::one_bits<T>);
    }

  private:
    template <class V>
    struct Factors {
        V v[spec::rows_per_chunk];
    };
    /// Where the exponent is in the upper word of a number.
    template <class V>
    static constexpr int high_shift = fp::Format<V>::precision - 1 - (fp::is_f64<V> ? 32 : 0);

    static __device__ __forceinline__ std::uint32_t high_word(float x) {
        return __float_as_uint(x);
    }
    static __device__ __forceinline__ std::uint32_t high_word(double x) {
        return static_cast<std::uint32_t>(__double2hiint(x));
    }
    static __device__ __forceinline__ float with_high_word(float, std::uint32_t high) {
        return __uint_as_float(high);
    }
    static __device__ __forceinline__ double with_high_word(double x, std::uint32_t high) {
        return __hiloint2double(static_cast<int>(high), __double2loint(x));
    }
    /// Not inlined, and by value: few lanes have a zero or a number that is not normal.
    template <class V>
    static __device__ __noinline__ Acc fold_any(Factors<V> factors) {
        Acc a = Acc::of(factors.v[0]);
#pragma unroll
        for (int r = 1; r < spec::rows_per_chunk; ++r)
            a.merge(Acc::of(factors.v[r]));
        return a;
    }
};

/// By `tree` alone: `compensated` has errors to put in order at each step.
template <class T, class Acc, bool Aligned>
inline constexpr bool folds_full_rows<FactorLevel<T, Acc, Aligned>> = !Acc::keeps_errors;

} // namespace detreduce::cuda
