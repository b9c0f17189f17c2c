// 16-bit formats, by the instructions that the GPU has for them. `word` holds two numbers.
//
// Those that end in `_here` are volatile: they stay where the value is used. ptxas else widens a
// whole chunk at once, and has no registers for that.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/fp/half.hpp>

namespace detreduce::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define DETREDUCE_GPU_HAS_BF16 1 ///< rounds to bf16, and has the lesser and the greater of pairs
#else
#define DETREDUCE_GPU_HAS_BF16 0
#endif

// f16 to f32: exact. NaN becomes 7fffffff.
#define DETREDUCE_F32_OF_F16(name, bits, assembly)                                                                     \
    [[nodiscard]] __device__ __forceinline__ float name(std::uint##bits##_t from) {                                    \
        float wide;                                                                                                    \
        assembly;                                                                                                      \
        return wide;                                                                                                   \
    }
#define DETREDUCE_HALVES "{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, "
DETREDUCE_F32_OF_F16(f32_of_f16, 16, asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(from)))
DETREDUCE_F32_OF_F16(f32_of_f16_here, 16, asm volatile("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(from)))
DETREDUCE_F32_OF_F16(f32_of_low_f16, 32, asm(DETREDUCE_HALVES "low;}" : "=f"(wide) : "r"(from)))
DETREDUCE_F32_OF_F16(f32_of_high_f16, 32, asm(DETREDUCE_HALVES "high;}" : "=f"(wide) : "r"(from)))
DETREDUCE_F32_OF_F16(f32_of_low_f16_here, 32, asm volatile(DETREDUCE_HALVES "low;}" : "=f"(wide) : "r"(from)))
DETREDUCE_F32_OF_F16(f32_of_high_f16_here, 32, asm volatile(DETREDUCE_HALVES "high;}" : "=f"(wide) : "r"(from)))
#undef DETREDUCE_HALVES
#undef DETREDUCE_F32_OF_F16

// bf16 to f32: bits are moved.
[[nodiscard]] __device__ __forceinline__ float f32_of_bf16_here(std::uint16_t bits) {
    float wide;
    asm volatile("mov.b32 %0, {%1, %2};" : "=f"(wide) : "h"(std::uint16_t{0}), "h"(bits));
    return wide;
}
[[nodiscard]] __device__ __forceinline__ float f32_of_low_bf16_here(std::uint32_t word) {
    std::uint32_t wide;
    asm volatile("shl.b32 %0, %1, 16;" : "=r"(wide) : "r"(word));
    return __uint_as_float(wide);
}
[[nodiscard]] __device__ __forceinline__ float f32_of_high_bf16_here(std::uint32_t word) {
    std::uint32_t wide;
    asm volatile("and.b32 %0, %1, 0xffff0000;" : "=r"(wide) : "r"(word));
    return __uint_as_float(wide);
}

// f32 to the nearest, of two the even one. NaN becomes 7fff.
[[nodiscard]] __device__ __forceinline__ std::uint16_t f16_of_f32(float x) {
    std::uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#if DETREDUCE_GPU_HAS_BF16
[[nodiscard]] __device__ __forceinline__ std::uint16_t bf16_of_f32(float x) {
    std::uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif

// Both halves of a word, of bf16 or f16, where DETREDUCE_GPU_HAS_BF16 is 1.

template <class Half>
[[nodiscard]] __device__ __forceinline__ std::uint32_t both_of_f32(float low, float high) {
    std::uint32_t word;
    if constexpr (std::is_same_v<Half, bfloat16>) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    }
    return word;
}
/// The greater of each half, or that which is not NaN.
template <class Half>
[[nodiscard]] __device__ __forceinline__ std::uint32_t greater_of_both(std::uint32_t a, std::uint32_t b) {
    if constexpr (std::is_same_v<Half, bfloat16>) {
        asm("max.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    } else {
        asm("max.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    }
    return a;
}
/// ffff for each half that is not less than that of b, and not NaN, else 0.
template <class Half>
[[nodiscard]] __device__ __forceinline__ std::uint32_t not_less_of_both(std::uint32_t a, std::uint32_t b) {
    if constexpr (!std::is_same_v<Half, bfloat16>) {
        asm("set.ge.u32.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
        return a;
    }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("set.ge.u32.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
    return a;
#else
    const bool low = __uint_as_float(a << 16) >= __uint_as_float(b << 16);
    const bool high = __uint_as_float(a & 0xffff0000u) >= __uint_as_float(b & 0xffff0000u);
    return (low ? 0xffffu : 0u) | (high ? 0xffff0000u : 0u);
#endif
}

/// Two e4m3 as two f16: exact. NaN becomes NaN.
[[nodiscard]] __device__ __forceinline__ std::uint32_t both_f16_of_e4m3(std::uint16_t pair) {
    std::uint32_t word;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(word) : "h"(pair));
#else // moved, its bits are those of a number 2^8 times smaller, also if it is subnormal
    const std::uint32_t bytes = __byte_perm(pair, 0, 0x1404), magnitude = bytes & 0x7f007f00u;
    const std::uint32_t nan = ((magnitude + 0x01000100u) & 0x80008000u) >> 15;
    asm("mul.f16x2 %0, %1, %2;" : "=r"(word) : "r"((bytes & 0x80008000u) | magnitude >> 1), "r"(0x5c005c00u));
    word |= nan * 0x7fffu;
#endif
    return word;
}

/// Each half filled with its sign, for which __byte_perm has no words.
[[nodiscard]] __device__ __forceinline__ std::uint32_t signs_of_both(std::uint32_t word) {
    std::uint32_t negative;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(negative) : "r"(word));
    return negative;
}

} // namespace detreduce::cuda
