// Stands in for kernels/platform/half.cuh.
#pragma once

#include <cstdint>

#include <detreduce/fp/convert.hpp>

#define DETREDUCE_GPU_HAS_BF16 1

namespace detreduce::cuda {

[[nodiscard]] inline float f32_of_f16(std::uint16_t bits) {
    return (bits & 0x7fffu) > 0x7c00u ? __uint_as_float(0x7fffffffu) : fp::widen(float16::from_bits(bits));
}
[[nodiscard]] inline float f32_of_f16_here(std::uint16_t bits) {
    return f32_of_f16(bits);
}
[[nodiscard]] inline float f32_of_low_f16(std::uint32_t word) {
    return f32_of_f16(static_cast<std::uint16_t>(word));
}
[[nodiscard]] inline float f32_of_high_f16(std::uint32_t word) {
    return f32_of_f16(static_cast<std::uint16_t>(word >> 16));
}
[[nodiscard]] inline float f32_of_low_f16_here(std::uint32_t word) {
    return f32_of_low_f16(word);
}
[[nodiscard]] inline float f32_of_high_f16_here(std::uint32_t word) {
    return f32_of_high_f16(word);
}
[[nodiscard]] inline float f32_of_bf16_here(std::uint16_t bits) {
    return __uint_as_float(std::uint32_t{bits} << 16);
}
[[nodiscard]] inline float f32_of_low_bf16_here(std::uint32_t word) {
    return __uint_as_float(word << 16);
}
[[nodiscard]] inline float f32_of_high_bf16_here(std::uint32_t word) {
    return __uint_as_float(word & 0xffff0000u);
}
template <class T>
[[nodiscard]] std::uint16_t half_of_f32(float x) {
    return fp::is_nan(x) ? std::uint16_t{0x7fff} : fp::to_bits(fp::round_to<T>(x));
}
[[nodiscard]] inline std::uint16_t f16_of_f32(float x) {
    return half_of_f32<float16>(x);
}
[[nodiscard]] inline std::uint16_t bf16_of_f32(float x) {
    return half_of_f32<bfloat16>(x);
}
template <class T>
[[nodiscard]] std::uint32_t both_of_f32(float low, float high) {
    return std::uint32_t{half_of_f32<T>(high)} << 16 | half_of_f32<T>(low);
}

[[nodiscard]] inline std::uint32_t both_f16_of_e4m3(std::uint16_t pair) {
    const auto half = [&](int shift) -> std::uint32_t {
        return f16_of_f32(fp::widen(float8_e4m3::from_bits(static_cast<std::uint8_t>(pair >> shift))));
    };
    return half(8) << 16 | half(0);
}

template <class T, class F>
[[nodiscard]] std::uint32_t of_both(std::uint32_t a, std::uint32_t b, const F& f) {
    return by_halves<std::uint16_t>([&](auto x, auto y) { return f(T::from_bits(x), T::from_bits(y)); }, a, b);
}
template <class T>
[[nodiscard]] std::uint32_t greater_of_both(std::uint32_t a, std::uint32_t b) {
    return of_both<T>(a, b, [](T x, T y) {
        const float v = fp::widen(x), w = fp::widen(y);
        return fp::is_nan(v) && fp::is_nan(w) ? std::uint16_t{0x7fff}
               : fp::is_nan(v) || v < w       ? fp::to_bits(y)
                                              : fp::to_bits(x);
    });
}
template <class T>
[[nodiscard]] std::uint32_t not_less_of_both(std::uint32_t a, std::uint32_t b) {
    return of_both<T>(a, b,
                      [](T x, T y) { return static_cast<std::uint16_t>(fp::widen(x) >= fp::widen(y) ? 0xffff : 0); });
}
[[nodiscard]] inline std::uint32_t signs_of_both(std::uint32_t word) {
    return ((word >> 15 & 1u) != 0 ? 0xffffu : 0u) | (word >> 31 != 0 ? 0xffff0000u : 0u);
}

} // namespace detreduce::cuda
