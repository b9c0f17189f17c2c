// Bits of floating-point numbers, on host and device.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/format.hpp>

namespace detreduce::fp {

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr Bits<T> to_bits(T x) {
    return __builtin_bit_cast(Bits<T>, x);
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T from_bits(Bits<T> b) {
    return __builtin_bit_cast(T, b);
}

template <class T>
inline constexpr Bits<T> sign_mask = Format<T>::sign;
template <class T>
requires Format<T>::has_inf inline constexpr Bits<T> infinity_bits = static_cast<Bits<T>>(Format<T>::largest + 1);
/// One, whose exponent field is the bias.
template <class T>
inline constexpr Bits<T> one_bits = static_cast<Bits<T>>(static_cast<Bits<T>>(Format<T>::bias)
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
    return magnitude_bits(x) > Format<T>::largest + Format<T>::has_inf;
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr bool is_finite(T x) {
    return magnitude_bits(x) <= Format<T>::largest;
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T negated(T x) {
    return from_bits<T>(static_cast<Bits<T>>(to_bits(x) ^ sign_mask<T>));
}

/// What lies beyond the numbers of T: an infinity, or NaN where there is none.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t beyond(const AnyFormat& f, bool negative) {
    return f.has_inf() ? (f.largest() + 1) | (negative ? f.sign() : 0) : f.canonical_nan();
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T beyond(bool negative) {
    return from_bits<T>(static_cast<Bits<T>>(beyond(AnyFormat::of<T>(), negative)));
}

/// x, with every NaN replaced by the one that SPEC.md names: payloads differ between processors.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T canonical(T x) {
    return is_nan(x) ? from_bits<T>(Format<T>::canonical_nan) : x;
}

} // namespace detreduce::fp
