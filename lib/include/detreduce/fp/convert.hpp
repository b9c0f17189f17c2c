// Conversions between the formats: exact ones to wider formats, and one rounding, to nearest, ties
// to even, to any format.
#pragma once

#include <cstdint>

#include <detreduce/fp/bits.hpp>
#include <detreduce/fp/eft.hpp>

namespace detreduce::fp {

[[nodiscard]] DETREDUCE_HD constexpr float widen(float x) {
    return x;
}
[[nodiscard]] DETREDUCE_HD constexpr double widen(double x) {
    return x;
}
[[nodiscard]] DETREDUCE_HD constexpr float widen(bfloat16 x) {
    return from_bits<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
/// The value of x as a float, exactly.
template <class T>
requires is_narrow<T>
[[nodiscard]] DETREDUCE_HD constexpr float widen(T x) {
    using F = Format<T>;
    constexpr int fraction = 24 - F::precision;                                     // by so much it grows
    constexpr std::uint32_t bias = static_cast<std::uint32_t>(127 - F::bias) << 23; // by so much that of the exponent
    constexpr float smallest = from_bits<float>(static_cast<std::uint32_t>(F::min_exponent + 127) << 23);
    const std::uint32_t magnitude = magnitude_bits(x), all = to_bits(x), sign = (all ^ magnitude) << (32 - F::bits);
    if (magnitude > F::largest) {
        if constexpr (!F::has_inf) return from_bits<float>(sign | 0x7fc00000u);
        return from_bits<float>(sign | 0x7f800000u | magnitude << fraction);
    }
    if (magnitude >> (F::precision - 1) != 0) return from_bits<float>(sign | ((magnitude << fraction) + bias));
    const float subnormal = static_cast<float>(magnitude) * smallest; // exact
    return from_bits<float>(sign | to_bits(subnormal));
}

/// ±(significand + s)·2^exponent rounded to T, where s = 0, or, if `sticky`, some number in (0, 1);
/// then the significand must have its top bit set.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t
round_significand(const AnyFormat& f, bool negative, std::uint64_t significand, int exponent, bool sticky) {
    const std::uint64_t sign = negative ? f.sign() : 0;
    if (significand == 0) return sign;
#if defined(__CUDA_ARCH__)
    const int length = 64 - __clzll(static_cast<long long>(significand));
#else
    const int length = 64 - __builtin_clzll(significand);
#endif
    const int top = exponent + length - 1;
    if (top > f.max_exponent) return beyond(f, negative);
    const int unit = top - (f.precision - 1) > f.min_exponent ? top - (f.precision - 1) : f.min_exponent;
    const int shift = unit - exponent; // > 64: less than half of the smallest number
    std::uint64_t kept = 0;
    if (shift <= 0) {
        kept = significand << -shift;
    } else if (shift <= 64) {
        kept = shift == 64 ? 0 : significand >> shift;
        const std::uint64_t half = std::uint64_t{1} << (shift - 1), rest = significand & (half + (half - 1));
        const bool up = rest > half || (rest == half && (sticky || (kept & 1) != 0));
        kept += up ? 1 : 0;
    }
    // The hidden bit adds one to the exponent field, and so does a carry to the next power of two,
    // up to infinity.
    const std::uint64_t magnitude = (static_cast<std::uint64_t>(unit - f.min_exponent) << (f.precision - 1)) + kept;
    if (!f.has_inf() && magnitude > f.largest()) return beyond(f, negative);
    return sign | magnitude;
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T round_significand(bool negative, std::uint64_t significand, int exponent,
                                                         bool sticky) {
    return from_bits<T>(
        static_cast<Bits<T>>(round_significand(AnyFormat::of<T>(), negative, significand, exponent, sticky)));
}

/// x rounded to T. NaN becomes the canonical one.
template <class T, class From>
[[nodiscard]] DETREDUCE_HD constexpr T round_to(From x) {
    using F = Format<From>;
    if constexpr (std::is_same_v<T, From>) return canonical(x);
    if (is_nan(x)) return from_bits<T>(Format<T>::canonical_nan);
    const Bits<From> magnitude = magnitude_bits(x);
    const bool negative = is_negative(x);
    if (magnitude > F::largest) return beyond<T>(negative);
    const int field = static_cast<int>(magnitude >> (F::precision - 1));
    const std::uint64_t hidden = std::uint64_t{1} << (F::precision - 1), fraction = magnitude & (hidden - 1);
    return field == 0 ? round_significand<T>(negative, fraction, F::min_exponent, false)
                      : round_significand<T>(negative, fraction | hidden, F::min_exponent + field - 1, false);
}

/// a + b rounded to odd, for finite a and b: its last bit remembers that something was lost.
[[nodiscard]] DETREDUCE_HD constexpr double sum_rounded_to_odd(double a, double b) {
    const Eft<double> s = two_sum(a, b);
    if (!is_finite(s.value)) return s.value; // then the error is no number
    std::uint64_t bits = to_bits(s.value);
    if (s.error != 0 && (bits & 1) == 0) {
        const bool away =
            is_negative(s.error) == is_negative(s.value); // the true sum is farther from zero than s.value
        bits = away ? bits + 1 : bits - 1;
    }
    return from_bits<double>(bits);
}

/// a + b rounded once to T, for finite a and b. To be rounded to odd first is harmless as double
/// has two bits more than T or is T (Boldo & Melquiond 2008).
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T sum_rounded_to(double a, double b) {
    if constexpr (std::is_same_v<T, double>) return a + b;
    return round_to<T>(sum_rounded_to_odd(a, b));
}

} // namespace detreduce::fp

namespace detreduce {

template <class T> // as CUDA's shared memory and unions need them
inline constexpr bool is_plain =
    sizeof(T) == sizeof(fp::Bits<T>) &&
    std::is_trivially_default_constructible_v<T>&& std::is_trivially_copyable_v<T>&& std::is_standard_layout_v<T>;

#define DETREDUCE_CONVERSIONS(type)                                                                                    \
    static_assert(is_plain<type>);                                                                                     \
    DETREDUCE_HD constexpr type::type(float x) : bits(fp::to_bits(fp::round_to<type>(x))) {}                           \
    DETREDUCE_HD constexpr type::type(double x) : bits(fp::to_bits(fp::round_to<type>(x))) {}                          \
    DETREDUCE_HD constexpr type::operator float() const {                                                              \
        return fp::widen(*this);                                                                                       \
    }                                                                                                                  \
    DETREDUCE_HD constexpr type::operator double() const {                                                             \
        return fp::widen(*this);                                                                                       \
    }
#define DETREDUCE_CONVERSIONS_OF(name, c_name, type) DETREDUCE_CONVERSIONS(type)
DETREDUCE_CONVERSIONS(float16)
DETREDUCE_CONVERSIONS(bfloat16)
DETREDUCE_FORMATS_OF_8_BITS(DETREDUCE_CONVERSIONS_OF)
#undef DETREDUCE_CONVERSIONS_OF
#undef DETREDUCE_CONVERSIONS

} // namespace detreduce
