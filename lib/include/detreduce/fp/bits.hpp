// Bits of floating-point numbers, on host and device.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/config.hpp>
#include <detreduce/fp/half.hpp>

namespace detreduce::fp {

/// Layout of an IEEE 754 binary format.
template <class T>
struct Format;
template <>
struct Format<float16> {
    using Bits = std::uint16_t;
    static constexpr int precision = 11; ///< significant bits, the hidden one included: unit roundoff u = 2^-precision
    static constexpr int min_exponent = -24; ///< exponent of the smallest subnormal
    static constexpr int max_exponent = 15;
    static constexpr Bits canonical_nan = 0x7e00u;
};
template <>
struct Format<bfloat16> {
    using Bits = std::uint16_t;
    static constexpr int precision = 8;
    static constexpr int min_exponent = -133;
    static constexpr int max_exponent = 127;
    static constexpr Bits canonical_nan = 0x7fc0u;
};
template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int precision = 24;
    static constexpr int min_exponent = -149;
    static constexpr int max_exponent = 127;
    static constexpr Bits canonical_nan = 0x7fc00000u;
};
template <>
struct Format<double> {
    using Bits = std::uint64_t;
    static constexpr int precision = 53;
    static constexpr int min_exponent = -1074;
    static constexpr int max_exponent = 1023;
    static constexpr Bits canonical_nan = 0x7ff8000000000000ull;
};

template <class T>
using Bits = typename Format<T>::Bits;

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr Bits<T> to_bits(T x) {
    return __builtin_bit_cast(Bits<T>, x);
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T from_bits(Bits<T> b) {
    return __builtin_bit_cast(T, b);
}

template <class T>
inline constexpr Bits<T> sign_mask = static_cast<Bits<T>>(Bits<T>{1} << (8 * sizeof(T) - 1));
template <class T>
inline constexpr Bits<T> infinity_bits = static_cast<Bits<T>>(static_cast<Bits<T>>(2 * Format<T>::max_exponent + 1)
                                                              << (Format<T>::precision - 1));

/// The bits without the sign: they order magnitudes, infinity and NaN above all numbers.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr Bits<T> magnitude_bits(T x) {
    return static_cast<Bits<T>>(to_bits(x) & static_cast<Bits<T>>(~sign_mask<T>));
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr bool is_negative(T x) {
    return (to_bits(x) & sign_mask<T>) != 0;
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr bool is_nan(T x) {
    return magnitude_bits(x) > infinity_bits<T>;
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr bool is_finite(T x) {
    return magnitude_bits(x) < infinity_bits<T>;
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T negated(T x) {
    return from_bits<T>(static_cast<Bits<T>>(to_bits(x) ^ sign_mask<T>));
}

/// x, with every NaN replaced by the one that SPEC.md names: payloads differ between processors.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T canonical(T x) {
    return is_nan(x) ? from_bits<T>(Format<T>::canonical_nan) : x;
}

} // namespace detreduce::fp
