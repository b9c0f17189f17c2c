// The threads of a warp: what they hand to each other, vote on and add up. All of them call each of
// these functions.
#pragma once

#include <cstdint>
#include <type_traits>

namespace detreduce::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned all_threads = 0xffffffffu;

/// `shuffle` of each word of a value.
template <class Value, class Shuffle>
__device__ __forceinline__ Value shuffle_words(const Value& value, const Shuffle& shuffle) {
    static_assert(sizeof(Value) % 4 == 0);
    constexpr int words = sizeof(Value) / 4;
    std::uint32_t raw[words];
    __builtin_memcpy(raw, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < words; ++i)
        raw[i] = shuffle(raw[i]);
    Value moved;
    __builtin_memcpy(&moved, raw, sizeof moved);
    return moved;
}
/// The value of the thread `distance` further on.
template <class Value>
__device__ __forceinline__ Value shuffle_down(const Value& value, int distance) {
    return shuffle_words(value, [=](std::uint32_t w) { return __shfl_down_sync(all_threads, w, distance); });
}
/// The value of the thread whose number has other bits where `mask` has bits.
template <class Value>
__device__ __forceinline__ Value shuffle_xor(const Value& value, int mask) {
    return shuffle_words(value, [=](std::uint32_t w) { return __shfl_xor_sync(all_threads, w, mask); });
}
/// The value of thread `from`.
template <class Value>
__device__ __forceinline__ Value shuffle_from(const Value& value, int from) {
    if constexpr (std::is_arithmetic_v<Value>) return __shfl_sync(all_threads, value, from);
    return shuffle_words(value, [=](std::uint32_t w) { return __shfl_sync(all_threads, w, from); });
}

[[nodiscard]] __device__ __forceinline__ bool any_of_warp(bool vote) {
    return __any_sync(all_threads, vote) != 0;
}
[[nodiscard]] __device__ __forceinline__ bool all_of_warp(bool vote) {
    return __all_sync(all_threads, vote) != 0;
}
/// A bit for each thread.
[[nodiscard]] __device__ __forceinline__ std::uint32_t votes_of_warp(bool vote) {
    return __ballot_sync(all_threads, vote);
}

/// A barrier: what the threads wrote before is seen by all of them behind it.
__device__ __forceinline__ void sync_warp() {
    __syncwarp();
}

/// A barrier for the threads of a block that have the same threadIdx.y: whole warps, one or more;
/// if more, threadIdx.y is 0 or 1. Barrier 0 is that of all threads. (The numbers are constants: a
/// block whose numbers are not takes all 16, and a multiprocessor has those of four such blocks.)
__device__ __forceinline__ void sync_team() {
    if (blockDim.x == warp_size) {
        __syncwarp();
    } else if (threadIdx.y == 0) {
        asm volatile("bar.sync 1, %0;" : : "r"(blockDim.x) : "memory");
    } else {
        asm volatile("bar.sync 2, %0;" : : "r"(blockDim.x) : "memory");
    }
}

// Sum, smallest and largest of 32-bit integers. One instruction from Ampere on.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class Integer, class Merge>
__device__ __forceinline__ Integer warp_reduce(Integer value, const Merge& merge) {
    static_assert(std::is_same_v<Integer, std::uint32_t> || std::is_same_v<Integer, std::int32_t>);
#pragma unroll
    for (int mask = 16; mask >= 1; mask /= 2)
        value = merge(value, __shfl_xor_sync(all_threads, value, mask));
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
    return __reduce_add_sync(all_threads, value);
}
template <class Integer>
__device__ __forceinline__ Integer warp_min(Integer value) {
    return __reduce_min_sync(all_threads, value);
}
template <class Integer>
__device__ __forceinline__ Integer warp_max(Integer value) {
    return __reduce_max_sync(all_threads, value);
}
#endif

} // namespace detreduce::cuda
