// The 16-bit formats as storage: two bytes with the layout of IEEE 754 binary16 and of bfloat16, so also of CUDA's __half and
// __nv_bfloat16. Arithmetic is done in float, to which both convert exactly. fp/convert.hpp defines the conversions.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <detreduce/config.hpp>

namespace detreduce {

/// IEEE 754 binary16. Conversions are explicit: float16(0.1f), float(h), float16::from_bits(0x3c00).
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

template <class T> // as CUDA's shared memory and unions need them
inline constexpr bool is_plain_half =
    sizeof(T) == 2 &&
    std::is_trivially_default_constructible_v<T>&& std::is_trivially_copyable_v<T>&& std::is_standard_layout_v<T>;
static_assert(is_plain_half<float16> && is_plain_half<bfloat16>);

} // namespace detreduce
