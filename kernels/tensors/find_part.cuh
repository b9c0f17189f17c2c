// Which tensor of a list is a block's, or a warp's.
#pragma once

#include <cstdint>

namespace detreduce::cuda {

/// Of parts of which each says the first that works on it: the last whose first is `number` or
/// before.
template <class Parts>
__device__ __forceinline__ std::uint32_t find_part(const Parts& parts, std::uint32_t number) {
    std::uint32_t low = 0, high = parts.count;
    while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        if (parts.part[middle].first <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

} // namespace detreduce::cuda
