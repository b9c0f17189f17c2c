// Who looks at elements together, and how their values become one: a thread, a warp or a block. All
// threads of a scope call its functions, and all have the result. Between two calls of one function
// they meet().
#pragma once

#include <cstdint>

#include "flat/tile.cuh"
#include "platform/warp.cuh"

namespace detreduce::cuda::multiset {

inline constexpr int max_threads = 256, max_warps = max_threads / warp_size;

struct ThreadScope {
    [[nodiscard]] __device__ __forceinline__ std::uint32_t rank() const { return 0; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t size() const { return 1; }
    __device__ __forceinline__ void meet() const {}
    template <class Value>
    [[nodiscard]] __device__ __forceinline__ Value largest(Value mine) const {
        return mine;
    }
    template <class Value>
    [[nodiscard]] __device__ __forceinline__ Value lowest(Value mine) const {
        return mine;
    }
    template <class Value>
    [[nodiscard]] __device__ __forceinline__ Value sum(Value mine) const {
        return mine;
    }
};

struct WarpScope {
    [[nodiscard]] __device__ __forceinline__ std::uint32_t rank() const { return threadIdx.x % warp_size; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t size() const { return warp_size; }
    __device__ __forceinline__ void meet() const {}
    [[nodiscard]] __device__ __forceinline__ std::int32_t largest(std::int32_t mine) const { return warp_max(mine); }
    [[nodiscard]] __device__ __forceinline__ std::int64_t largest(std::int64_t mine) const {
#pragma unroll
        for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
            const std::int64_t other = shuffle_xor(mine, distance);
            mine = other > mine ? other : mine;
        }
        return mine;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t lowest(std::uint32_t mine) const {
        return warp_min(mine);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t sum(std::uint32_t mine) const {
        return warp_add(mine);
    }
};

struct Larger {
    template <class Value>
    __device__ __forceinline__ void operator()(Value& all, Value other) const {
        if (other > all) all = other;
    }
};
struct Lower {
    template <class Value>
    __device__ __forceinline__ void operator()(Value& all, Value other) const {
        if (other < all) all = other;
    }
};
struct Plus {
    template <class Value>
    __device__ __forceinline__ void operator()(Value& all, Value other) const {
        all += other;
    }
};

/// The values of the block's threads in one, for all of them. Shared memory is used again by the
/// next call that merges the same values in the same way: threads must meet before it.
template <class Merge, class Value>
__device__ __forceinline__ Value reduce_block(Value mine, const Merge& merge) {
    __shared__ Value of_warp[max_warps];
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2)
        merge(mine, shuffle_down(mine, distance));
    if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = mine;
    __syncthreads();
    Value all = of_warp[0];
    for (int w = 1; w < static_cast<int>(blockDim.x) / warp_size; ++w)
        merge(all, of_warp[w]);
    return all;
}

struct BlockScope {
    [[nodiscard]] __device__ __forceinline__ std::uint32_t rank() const { return threadIdx.x; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t size() const { return blockDim.x; }
    __device__ __forceinline__ void meet() const { __syncthreads(); }
    template <class Value>
    [[nodiscard]] __device__ __forceinline__ Value largest(Value mine) const {
        return reduce_block(mine, Larger{});
    }
    template <class Value>
    [[nodiscard]] __device__ __forceinline__ Value lowest(Value mine) const {
        return reduce_block(mine, Lower{});
    }
    template <class Value>
    [[nodiscard]] __device__ __forceinline__ Value sum(Value mine) const {
        return reduce_block(mine, Plus{});
    }
};

} // namespace detreduce::cuda::multiset
