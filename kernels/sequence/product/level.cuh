// Elements as factors, for the kernels of sums.
#pragma once

#include <detreduce/acc/product.hpp>

#include "sequence/words.cuh"

namespace detreduce::cuda {

/// A product of at most a tile by `tree`: its exponent has no more bits than its significand.
template <class V>
struct TileProduct {
    static constexpr bool pairwise_rows = false, keeps_errors = false, commutes = true;
    using Value = V;

    V significand;
    std::make_signed_t<fp::Bits<V>> exponent;

    [[nodiscard]] static __device__ __forceinline__ TileProduct identity() { return {V(1), 0}; }
    [[nodiscard]] static __device__ __forceinline__ TileProduct of(V x) {
        const acc::Scaled<V> t = acc::scaled(x);
        return {t.significand, t.exponent};
    }
    __device__ __forceinline__ void merge(const TileProduct& right) {
        const acc::Scaled<V> t = acc::multiplied<false>(significand, V{}, right.significand, V{});
        significand = t.significand;
        exponent += right.exponent + t.exponent;
    }
    __device__ __forceinline__ operator acc::Product<V, false>() const { return {significand, V{}, exponent}; }
};

/// The input: elements are multiplied. `Aligned`: known to be; those of 16 bits are else loaded as
/// if they never were.
template <class T, class AccT, bool Aligned>
struct FactorLevel {
    using Item = T;
    using Items = ItemOf<T, 1, Aligned ? Alignment::known : fp::is_narrow<T> ? Alignment::never : Alignment::seen>;
    using Pointer = typename Items::Pointer;
    using Result = AccT;
    using Acc = std::conditional_t<AccT::keeps_errors, AccT, TileProduct<fp::Arithmetic<T>>>;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = true;
    /// By `tree` alone: `compensated` has errors to put in order at each step.
    static constexpr bool folds_rows = !Acc::keeps_errors;
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& x) {
        return Acc::of(widen(x));
    }
    template <class X>
    static __device__ __forceinline__ void take(Acc& a, const X& x) {
        a.merge(as_accumulator(x));
    }
    /// The first Rows rows of a lane, one after the other; what is absent changes nothing. Of
    /// normal numbers exponents are added apart from the significands, which are put in order once,
    /// at the end: eight of them are below 2^8, and powers of two change no rounding.
    template <int Rows, int Minimum, class ItemAt>
    static __device__ __forceinline__ Acc fold(const ItemAt& item, int) {
        using V = typename Acc::Value;
        constexpr std::uint32_t one = 1u << high_shift<V>, exponents = 0x7fffffffu & -one;
        constexpr int bias = fp::Format<V>::max_exponent;
        Factors<V, Rows> factors;
        std::uint32_t fields = 0, outside = 0;
        V product = 1;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const V x = widen(item(r));
            factors.v[r] = x;
            const std::uint32_t high = high_word(x), field = high & exponents;
            fields += field >> high_shift<V>;
            outside = max(outside, field - one); // of zeros and subnormals it wraps around
            const V significand = with_high_word(x, (high & ~exponents) | bias * one);
            product = r == 0 ? significand : product * significand;
        }
        if (outside >= exponents - one) return fold_any(factors);
        const acc::Scaled<V> t = acc::normalized(product, V{});
        return {t.significand, t.exponent + static_cast<int>(fields) - Rows * bias};
    }
    static __device__ __forceinline__ Acc of_nothing() {
        return Acc::identity();
    }
    /// 1, which changes nothing.
    static __device__ __forceinline__ Item identity() {
        return fp::from_bits<T>(fp::one_bits<T>);
    }

  private:
    template <class V, int Rows>
    struct Factors {
        V v[Rows];
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
    template <class V, int Rows>
    static __device__ __noinline__ Acc fold_any(Factors<V, Rows> factors) {
        Acc a = Acc::of(factors.v[0]);
#pragma unroll
        for (int r = 1; r < Rows; ++r)
            a.merge(Acc::of(factors.v[r]));
        return a;
    }
};

template <class T, class Acc>
inline constexpr bool reads_words<FactorLevel<T, Acc, false>> = fp::has_16_bits<T> && !Acc::keeps_errors;

} // namespace detreduce::cuda
