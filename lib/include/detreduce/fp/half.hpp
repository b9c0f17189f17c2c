// Formats of one and two bytes as storage, with the layout of CUDA's __half, __nv_bfloat16,
// __nv_fp8_e4m3 and __nv_fp8_e5m2. Arithmetic is done in float, to which all convert exactly.
// fp/convert.hpp defines the conversions.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <detreduce/config.hpp>

namespace detreduce {

/// IEEE 754 binary16. Conversions are explicit: float16(0.1f), float(h),
/// float16::from_bits(0x3c00).
struct float16 {
    std::uint16_t bits;

    float16() = default;
    /// x rounded once, to nearest, ties to even. NaN becomes the canonical one.
    DETREDUCE_HD explicit constexpr float16(float x);
    DETREDUCE_HD explicit constexpr float16(double x);
    /// An integer may be meant as a number or as bits: say float16(double(i)), or from_bits().
    template <std::integral I>
    explicit float16(I) = delete;

    /// The value, exactly.
    DETREDUCE_HD explicit constexpr operator float() const;
    DETREDUCE_HD explicit constexpr operator double() const;

    DETREDUCE_HD static constexpr float16 from_bits(std::uint16_t b) { return __builtin_bit_cast(float16, b); }
};

/// The upper half of a binary32. Otherwise as float16.
struct bfloat16 {
    std::uint16_t bits;

    bfloat16() = default;
    DETREDUCE_HD explicit constexpr bfloat16(float x);
    DETREDUCE_HD explicit constexpr bfloat16(double x);
    template <std::integral I>
    explicit bfloat16(I) = delete;

    DETREDUCE_HD explicit constexpr operator float() const;
    DETREDUCE_HD explicit constexpr operator double() const;

    DETREDUCE_HD static constexpr bfloat16 from_bits(std::uint16_t b) { return __builtin_bit_cast(bfloat16, b); }
};

/// OCP float8 E4M3: a sign, 4 bits of exponent, 3 of fraction; up to 448, without infinities: what
/// is rounded beyond that is NaN. Otherwise as float16.
struct float8_e4m3 {
    std::uint8_t bits;

    float8_e4m3() = default;
    DETREDUCE_HD explicit constexpr float8_e4m3(float x);
    DETREDUCE_HD explicit constexpr float8_e4m3(double x);
    template <std::integral I>
    explicit float8_e4m3(I) = delete;

    DETREDUCE_HD explicit constexpr operator float() const;
    DETREDUCE_HD explicit constexpr operator double() const;

    DETREDUCE_HD static constexpr float8_e4m3 from_bits(std::uint8_t b) { return __builtin_bit_cast(float8_e4m3, b); }
};

/// OCP float8 E5M2, the upper half of a binary16: up to 57344, with infinities. Otherwise as
/// float16.
struct float8_e5m2 {
    std::uint8_t bits;

    float8_e5m2() = default;
    DETREDUCE_HD explicit constexpr float8_e5m2(float x);
    DETREDUCE_HD explicit constexpr float8_e5m2(double x);
    template <std::integral I>
    explicit float8_e5m2(I) = delete;

    DETREDUCE_HD explicit constexpr operator float() const;
    DETREDUCE_HD explicit constexpr operator double() const;

    DETREDUCE_HD static constexpr float8_e5m2 from_bits(std::uint8_t b) { return __builtin_bit_cast(float8_e5m2, b); }
};

} // namespace detreduce
