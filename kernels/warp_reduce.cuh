// Sum, smallest and largest of 32-bit integers over a warp, all of whose threads call this and have the result. One instruction from Ampere on.
#pragma once

#include <cstdint>
#include <type_traits>

namespace detreduce::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class Integer, class Merge>
__device__ __forceinline__ Integer warp_reduce(Integer value, const Merge& merge) {
    static_assert(std::is_same_v<Integer, std::uint32_t> || std::is_same_v<Integer, std::int32_t>);
#pragma unroll
    for (int mask = 16; mask >= 1; mask /= 2)
        value = merge(value, __shfl_xor_sync(0xffffffffu, value, mask));
    return value;
}
template <class Integer>
__device__ __forceinline__ Integer warp_add(Integer value) {
    return warp_reduce(value, [](Integer a, Integer b) { return a + b; });
}
template <class Integer>
__device__ __forceinline__ Integer warp_min(Integer value) {
    return warp_reduce(value, [](Integer a, Integer b) { return a < b ? a : b; });
}
template <class Integer>
__device__ __forceinline__ Integer warp_max(Integer value) {
    return warp_reduce(value, [](Integer a, Integer b) { return a < b ? b : a; });
}
#else
template <class Integer>
__device__ __forceinline__ Integer warp_add(Integer value) {
    return __reduce_add_sync(0xffffffffu, value);
}
template <class Integer>
__device__ __forceinline__ Integer warp_min(Integer value) {
    return __reduce_min_sync(0xffffffffu, value);
}
template <class Integer>
__device__ __forceinline__ Integer warp_max(Integer value) {
    return __reduce_max_sync(0xffffffffu, value);
}
#endif

} // namespace detreduce::cuda
