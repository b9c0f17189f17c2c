// Elements of 8 bits as f16, all of whose numbers they are.
#pragma once

#include <detreduce/fp/bits.hpp>

#include "platform/half.cuh"

namespace detreduce::cuda {

/// Two elements of T in a word, the lower or the upper ones, as two of f16.
template <class T>
[[nodiscard]] __device__ __forceinline__ std::uint32_t both_f16_of(std::uint32_t word, int upper) {
    if constexpr (std::is_same_v<T, float8_e4m3>) {
        return both_f16_of_e4m3(static_cast<std::uint16_t>(word >> (16 * upper)));
    } else { // e5m2: the upper half of an f16
        return __byte_perm(word, 0, upper == 0 ? 0x1404 : 0x3424);
    }
}

} // namespace detreduce::cuda
