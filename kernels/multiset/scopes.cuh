// Who looks at elements together, and how their values become one: a warp, a part of one, or a
// block. All threads of a scope call its functions, and all have the result.
#pragma once

#include <cstdint>

#include "sequence/tile.cuh"
#include "platform/warp.cuh"
#include "policies.hpp"

namespace detreduce::cuda::multiset {

inline constexpr int max_threads = policy::compare.threads, max_warps = max_threads / warp_size;

/// How two values become one; and of 32 bits those of a warp.
template <bool Larger>
struct Extreme {
    template <class Value>
    __device__ __forceinline__ void operator()(Value& all, Value other) const {
        all = (Larger ? other > all : other < all) ? other : all;
    }
    template <class Value>
    static __device__ __forceinline__ Value of_warp(Value mine) {
        return Larger ? warp_max(mine) : warp_min(mine);
    }
};
using Larger = Extreme<true>;
using Lower = Extreme<false>;
struct Plus {
    template <class Value>
    __device__ __forceinline__ void operator()(Value& all, Value other) const {
        all += other;
    }
    template <class Value>
    static __device__ __forceinline__ Value of_warp(Value mine) {
        return warp_add(mine);
    }
};

/// So many neighbouring threads of a warp, whose other threads do the same at the same time.
template <int Threads>
struct TeamScope {
    static __device__ __forceinline__ std::uint32_t rank() { return threadIdx.x % Threads; }
    static __device__ __forceinline__ std::uint32_t size() { return Threads; }
    static __device__ __forceinline__ void meet() {}
    template <class Value, class Merge>
    static __device__ __forceinline__ Value reduce(Value mine, const Merge& merge) {
        if constexpr (Threads == warp_size && sizeof(Value) == 4) {
            return merge.of_warp(mine);
        } else {
#pragma unroll
            for (int distance = Threads / 2; distance >= 1; distance /= 2)
                merge(mine, shuffle_xor(mine, distance));
            return mine;
        }
    }
};

struct BlockScope {
    static __device__ __forceinline__ std::uint32_t rank() { return threadIdx.x; }
    static __device__ __forceinline__ std::uint32_t size() { return blockDim.x; }
    static __device__ __forceinline__ void meet() { __syncthreads(); }
    /// Threads meet before the next call that merges the same type in the same way: shared memory
    /// is used again.
    template <class Value, class Merge>
    static __device__ __forceinline__ Value reduce(Value mine, const Merge& merge) {
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
};

} // namespace detreduce::cuda::multiset
