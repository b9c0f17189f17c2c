// Bits of floating-point numbers, on host and device.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/config.hpp>

namespace detreduce::fp {

/// Layout of an IEEE 754 binary format.
template <class T>
struct Format;
template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int precision = 24; ///< significant bits, the hidden one included: unit roundoff u = 2^-precision
    static constexpr int min_exponent = -149; ///< exponent of the smallest subnormal, 2^-149
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

/// x, with every NaN replaced by the one that SPEC.md names: payloads differ between processors.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T canonical(T x) {
    return x != x ? from_bits<T>(Format<T>::canonical_nan) : x;
}

} // namespace detreduce::fp
