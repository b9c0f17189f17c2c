// fp::round_to in an instruction or two, where the GPU has them.
#pragma once

#include <type_traits>

#include <detreduce/fp/convert.hpp>

#include "platform/half.cuh"

namespace detreduce::cuda {

/// x rounded to Out. NaN becomes the canonical one.
template <class Out>
__device__ __forceinline__ Out rounded_to(double x) {
    if constexpr (fp::is_f32<Out>) return fp::canonical(static_cast<float>(x));
    return fp::round_to<Out>(x);
}
template <class Out>
__device__ __forceinline__ Out rounded_to(float x) {
    [[maybe_unused]] const auto bits_or_nan = [&](std::uint16_t bits) {
        return fp::from_bits<Out>(fp::is_nan(x) ? fp::Format<Out>::canonical_nan : bits);
    };
    if constexpr (std::is_same_v<Out, float16>) {
        return bits_or_nan(f16_of_f32(x));
    } else if constexpr (std::is_same_v<Out, bfloat16>) {
#if DETREDUCE_GPU_HAS_BF16
        return bits_or_nan(bf16_of_f32(x));
#else
        return fp::round_to<bfloat16>(x);
#endif
    } else {
        return fp::canonical(static_cast<Out>(x));
    }
}

} // namespace detreduce::cuda
