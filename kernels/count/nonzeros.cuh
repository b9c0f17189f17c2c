// Elements that are not zero, 16 bytes at a time.
#pragma once

#include <cstdint>

namespace detreduce::cuda::count {

/// Elements of v that are not zero.
template <class T>
__device__ __forceinline__ std::uint32_t nonzeros(const uint4& v) {
    const std::uint32_t words[] = {v.x, v.y, v.z, v.w};
    std::uint32_t found = 0;
    if constexpr (fp::has_16_bits<T>) {
        constexpr std::uint32_t magnitudes = 0x7fff7fff;
#pragma unroll
        for (const std::uint32_t w : words) // a magnitude other than 0 carries into the place of the sign
            found += __popc(((w & magnitudes) + magnitudes) & ~magnitudes);
    } else if constexpr (fp::is_f32<T>) {
#pragma unroll
        for (const std::uint32_t w : words)
            found += (w & 0x7fffffff) != 0;
    } else {
        found += (words[0] | (words[1] & 0x7fffffff)) != 0;
        found += (words[2] | (words[3] & 0x7fffffff)) != 0;
    }
    return found;
}

} // namespace detreduce::cuda::count
