// What the functions of math.hpp share: constants of the formats, polynomials, powers of two, and
// the two parts of a number.
//
// How contraction is kept out. A compiler that may contract turns a·b + c into one rounding where
// it likes. Here what * gives is never an operand of + or −, but only a factor, or the addend of
// fused(); a product that is to be added is made by product(). So there is nothing to contract,
// whatever the flags. Keep to it.
#pragma once

#include <concepts>

#include <detreduce/config.hpp>
#include <detreduce/fp/bits.hpp>
#include <detreduce/fp/eft.hpp>

namespace detreduce::math {

/// What the functions take and give.
template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

namespace detail {

template <class T>
struct Constants;
template <>
struct Constants<float> {
    static constexpr float log2_e = 0x1.715476p+0f;
    // ln 2 = high + low: high · k is exact for |k| < 2^8 (Cody & Waite).
    static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
    static constexpr float shifter = 0x1.8p+23f; ///< t + shifter has the integer nearest to t in its lowest bits
    static constexpr float sqrt_half = 0x1.6a09e6p-1f, sqrt2_minus_1 = 0x1.a8279ap-2f;
    static constexpr float tiny = 0x1p-30f; ///< below it x is nearer than 2^-30·x to expm1, log1p and tanh
    static constexpr float exp_lowest = -104, exp_highest = 89; ///< beyond them exp is +0 and +inf
    static constexpr float expm1_lowest = -18;                  ///< below it expm1 is −1
    static constexpr float tanh_highest = 10;                   ///< above it tanh is 1
    static constexpr float straight = 0x1p-10f;                 ///< below it sigmoid is 1/2 + x/4 to within 2^-10 ulp
    static constexpr float far = 30; ///< e^-far is nothing beside 1, and 2^deepest is below it
    static constexpr float deepest = -60;
    static constexpr std::uint32_t rsqrt_start = 0x5f374700;
};
template <>
struct Constants<double> {
    static constexpr double log2_e = 0x1.71547652b82fep+0;
    static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45; ///< exact for |k| < 2^11
    static constexpr double shifter = 0x1.8p+52;
    static constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1, sqrt2_minus_1 = 0x1.a827999fcef32p-2;
    static constexpr double tiny = 0x1p-60;
    static constexpr double exp_lowest = -746, exp_highest = 710;
    static constexpr double expm1_lowest = -38;
    static constexpr double tanh_highest = 20;
    static constexpr double straight = 0x1p-19;
    static constexpr double far = 60;
    static constexpr double deepest = -100;
    static constexpr std::uint64_t rsqrt_start = 0x5fe6e8e000000000;
};

template <class T>
inline constexpr int fraction_bits = fp::Format<T>::precision - 1;
template <class T>
inline constexpr fp::Bits<T> bias = static_cast<fp::Bits<T>>(fp::Format<T>::max_exponent);
template <class T>
inline constexpr T infinity = fp::from_bits<T>(fp::infinity_bits<T>);
template <class T>
inline constexpr T nan = fp::from_bits<T>(fp::Format<T>::canonical_nan);

/// a·b, rounded once, which no addition can be contracted with.
template <class T>
[[nodiscard]] DETREDUCE_HD T product(T a, T b) {
    return fp::fused(a, b, T{0});
}

/// c₀ + x·(c₁ + x·(c₂ + …)), each step rounded once (Horner).
template <class T>
[[nodiscard]] DETREDUCE_HD T polynomial(T, T c) {
    return c;
}
template <class T, class... More>
[[nodiscard]] DETREDUCE_HD T polynomial(T x, T c, More... more) {
    return fp::fused(x, polynomial(x, more...), c);
}

template <class T>
[[nodiscard]] DETREDUCE_HD T magnitude(T x) {
    return fp::from_bits<T>(fp::magnitude_bits(x));
}

/// condition ? a : b, without a branch. Of a plain ?: compilers may make one, as they may not
/// compute, for the flags' sake, what nobody asked for: loops for AVX2 would then not be
/// vectorized.
template <class T>
[[nodiscard]] DETREDUCE_HD T select(bool condition, T a, T b) {
#if defined(__CUDA_ARCH__)
    return condition ? a : b;
#else
    const fp::Bits<T> mask = fp::Bits<T>{0} - static_cast<fp::Bits<T>>(condition);
    return fp::from_bits<T>((fp::to_bits(a) & mask) | (fp::to_bits(b) & ~mask));
#endif
}
template <class T>
[[nodiscard]] DETREDUCE_HD T lesser(T a, T b) {
    return select(b < a, b, a);
}
template <class T>
[[nodiscard]] DETREDUCE_HD T greater(T a, T b) {
    return select(a < b, b, a);
}

/// y, but the canonical NaN where x is NaN.
template <class T>
[[nodiscard]] DETREDUCE_HD T unless_nan(T x, T y) {
    return select(x != x, nan<T>, y);
}

/// 2^k, for whole k. Where that is no normal number: nothing that is greater than any positive
/// number, if −2·bias < k < 2·bias.
template <class T>
[[nodiscard]] DETREDUCE_HD T power_of_two(T k) {
    constexpr T shifter = Constants<T>::shifter;
    return fp::from_bits<T>((fp::to_bits(k + shifter) + (bias<T> - fp::to_bits(shifter))) << fraction_bits<T>);
}

/// (high + low)·2^k, rounded once, for 1/4 < high < 2, high + low as high when rounded, or next to
/// it, and whole k between those of exp. Made of bits, so that no caller's addition can be
/// contracted with it.
template <class T>
[[nodiscard]] DETREDUCE_HD T scaled(T high, T low, T k) {
    constexpr int lowest = 1 - fp::Format<T>::max_exponent;
    const fp::Bits<T> moved = fp::to_bits(high + low) + (fp::to_bits(k + Constants<T>::shifter) << fraction_bits<T>);
    const fp::Bits<T> normal = moved < fp::infinity_bits<T> ? moved : fp::infinity_bits<T>;
    // 2^lowest is what `step` is before scaling. Below it, step + high + low is rounded where the
    // subnormal ends, and is as many steps of that above step.
    const T step = power_of_two(lowest - k);
    const T sum = step + high, rounded = sum + ((step - sum + high) + low);
    const T below = fp::from_bits<T>(fp::to_bits(rounded) - fp::to_bits(step));
    return select(high < step, below, fp::from_bits<T>(normal));
}

/// A number as value + error.
template <class T>
using Pair = fp::Eft<T>;

/// A better reciprocal of d than r: the error e = 1 − d·r becomes e³.
template <class T>
[[nodiscard]] DETREDUCE_HD T closer_reciprocal(T d, T r) {
    const T e = fp::fused(-d, r, T{1});
    return fp::fused(r, fp::fused(e, e, e), r);
}

/// n / d = value + remainder·reciprocal, nearly exactly, for 1 ≤ d ≤ 2: the error of the
/// reciprocal, below 2^-19 (f32) and 2^-58 (f64), enters squared. The first guess has the smallest
/// error of all polynomials of degree 2, 0.0101. (Dividing would take a GPU several times as long.)
template <class T>
struct Quotient {
    T value, remainder, reciprocal;
};
template <class T>
[[nodiscard]] DETREDUCE_HD Quotient<T> quotient(Pair<T> n, Pair<T> d) {
    const T guess = polynomial(d.value, T(0x1.0f83ep+1f), T(-0x1.745ceap+0f), T(0x1.4afcfap-2f));
    T reciprocal = closer_reciprocal(d.value, guess);
    if constexpr (fp::is_f64<T>) reciprocal = closer_reciprocal(d.value, reciprocal);
    const T value = product(n.value, reciprocal);
    const T remainder = fp::fused(-value, d.error, fp::fused(-value, d.value, n.value) + n.error);
    return {value, remainder, reciprocal};
}

} // namespace detail
} // namespace detreduce::math
