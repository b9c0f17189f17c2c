// fp::round_to in an instruction or two, where the GPU has them, and powers of two.
#pragma once

#include <type_traits>

#include <detreduce/acc/finish.hpp>
#include <detreduce/fp/convert.hpp>

#include "platform/half.cuh"

namespace detreduce::cuda {

/// x rounded to Out. NaN becomes the canonical one.
template <class Out>
__device__ __forceinline__ Out rounded_to(float x) {
    [[maybe_unused]] const auto bits_or_nan = [&](std::uint16_t bits) {
        return fp::from_bits<Out>(fp::is_nan(x) ? fp::Format<Out>::canonical_nan : bits);
    };
    if constexpr (std::is_same_v<Out, float16>) {
        return bits_or_nan(f16_of_f32(x));
#if DETREDUCE_GPU_HAS_BF16
    } else if constexpr (std::is_same_v<Out, bfloat16>) {
        return bits_or_nan(bf16_of_f32(x));
#endif
    } else if constexpr (fp::is_narrow<Out>) {
        return fp::round_to<Out>(x);
    } else {
        return fp::canonical(static_cast<Out>(x));
    }
}

/// x rounded to odd: towards zero, but the last bit remembers that something was lost. Formats
/// of 22 bits or fewer, of the exponents of f32 or fewer, are rounded from that as from x
/// (Boldo & Melquiond 2008).
__device__ __forceinline__ float rounded_to_odd(double x) {
    const float low = __double2float_rz(x);
    return __uint_as_float(__float_as_uint(low) | (static_cast<double>(low) != x ? 1u : 0u));
}
template <class Out>
__device__ __forceinline__ Out rounded_to(double x) {
    if constexpr (fp::is_narrow<Out>) {
        return rounded_to<Out>(rounded_to_odd(x));
    } else {
        return fp::canonical(static_cast<Out>(x));
    }
}
/// 2^exponent, a normal number.
[[nodiscard]] __device__ __forceinline__ constexpr double power_of_two(int exponent) {
    return fp::from_bits<double>(static_cast<std::uint64_t>(exponent + fp::Format<double>::max_exponent) << 52);
}
/// f(p as an array of T) for the T of `dtype`, of 16 bits or more: with_dtype() is for the host.
template <class F>
__device__ __forceinline__ void with_array(void* p, DType dtype, const F& f) {
    switch (dtype) {
#define DETREDUCE_CASE(name, c_name, type)                                                                             \
    case DType::name:                                                                                                  \
        return f(static_cast<type*>(p));
        DETREDUCE_FORMATS_FROM_16_BITS(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    default: // there are no kernels of it
        return;
    }
}
/// As acc::Finished::as().
template <class Out>
__device__ __forceinline__ Out rounded_to(const acc::Finished& result) {
    return rounded_to<Out>(std::is_same_v<Out, double> ? result.nearest : result.odd);
}

} // namespace detreduce::cuda
