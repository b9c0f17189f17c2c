// What the warps of a row share: their memory, and sums of all their lanes (row_ops/chunk.cuh).
#pragma once

#include <algorithm>
#include <cmath>

#include "row_ops/chunk.cuh"

namespace detreduce::cuda::row_kernels {

/// The element at a row's target, and its weight; or, where it is no class, what loss and weight
/// are.
template <class V>
struct RowTarget {
    V x, weight;
    bool there;
};

/// Tiles whose results a warp merges at once.
inline constexpr int most_few_tiles = warp_size;

/// Shared memory of a team, with the lanes of its warps behind.
template <class T>
struct alignas(16) Shared {
    using V = fp::Arithmetic<T>;
    static constexpr int lanes = spec::TreeOrder<sizeof(T)>::lanes;
    template <class Acc>
    using Upper = BufferOf<PartialLevel<Acc>, most_warps>;
    V total;
    V maximum[most_warps];
    spec::ExpMerge<T> merge[most_warps - 1]; ///< of chunks: four of neighbours, two of pairs, one of halves
    spec::ExpState<T> state;
    spec::ExpSum<T> sum;
    RowTarget<V> target;
    V tiles[2 * most_few_tiles]; ///< of a row of few tiles: one or two numbers of each

    template <class Acc>
    [[nodiscard]] __device__ __forceinline__ Acc* tiles_as() {
        static_assert(sizeof(Acc) <= 2 * sizeof(V));
        return reinterpret_cast<Acc*>(tiles);
    }
    /// Of the warp, which it may use for something else as long as there are no lanes in it.
    [[nodiscard]] __device__ __forceinline__ V* lane(int warp) { return reinterpret_cast<V*>(this + 1) + warp * lanes; }
    [[nodiscard]] __device__ __forceinline__ V* own_lane() { return lane(static_cast<int>(threadIdx.x) / warp_size); }
    /// Of a team of 8 warps, in the place of lanes.
    template <class Acc>
    [[nodiscard]] __device__ __forceinline__ Upper<Acc>& upper() {
        return *reinterpret_cast<Upper<Acc>*>(this + 1);
    }
    [[nodiscard]] static std::size_t bytes(std::uint32_t warps, bool has_levels) {
        const std::size_t of_lanes = warps * lanes * sizeof(V);
        const std::size_t above = std::max(sizeof(Upper<acc::Rounded<V>>), sizeof(Upper<spec::ExpState<T>>));
        return sizeof(Shared) + (has_levels ? std::max(of_lanes, above) : of_lanes);
    }
};

/// f(the number of the team's warps as a constant): its loops are unrolled.
template <class F>
__device__ __forceinline__ auto for_warps(const F& f) {
    switch (blockDim.x) {
    case 8 * warp_size:
        return f(std::integral_constant<int, 8>{});
    case 4 * warp_size:
        return f(std::integral_constant<int, 4>{});
    case 2 * warp_size:
        return f(std::integral_constant<int, 2>{});
    default:
        return f(std::integral_constant<int, 1>{});
    }
}

/// The thread's lanes, to where the team looks for them.
template <class V, int K>
__device__ __forceinline__ void put_lanes(V* own_lane, const V (&sum)[K]) {
    Pack<V, K> pack;
#pragma unroll
    for (int k = 0; k < K; ++k)
        pack.v[k] = sum[k];
    *reinterpret_cast<Pack<V, K>*>(own_lane + threadIdx.x % warp_size * K) = pack;
}

/// Lane by lane, the lanes of the team's chunks as merge(node, lane, left, right) merges two: to
/// the place of the first chunk's. Then, those added up in the order of a tile: to the first
/// thread.
template <int Warps, class T, int K, class Merge>
__device__ __forceinline__ fp::Arithmetic<T> merged_lanes(Shared<T>& s, const Merge& merge) {
    using V = fp::Arithmetic<T>;
    constexpr int lanes = spec::TreeOrder<sizeof(T)>::lanes, together = 16 / sizeof(V);
    using Some = Pack<V, together>;
    if constexpr (Warps > 1) {
        const int first = static_cast<int>(threadIdx.x) * together;
        if (first < lanes) {
            Some part[Warps];
#pragma unroll
            for (int w = 0; w < Warps; ++w)
                part[w] = *reinterpret_cast<const Some*>(s.lane(w) + first);
            int node = 0;
#pragma unroll
            for (int step = 1; step < Warps; step *= 2) {
#pragma unroll
                for (int w = 0; w < Warps; w += 2 * step, ++node) {
#pragma unroll
                    for (int i = 0; i < together; ++i)
                        part[w].v[i] = merge(node, first + i, part[w].v[i], part[w + step].v[i]);
                }
            }
            *reinterpret_cast<Some*>(s.lane(0) + first) = part[0];
        }
        static_assert(lanes / together <= 2 * warp_size);
        sync_team();
    }
    if (threadIdx.x >= warp_size) return {};
    acc::Rounded<V> lane[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
        lane[k] = {s.lane(0)[threadIdx.x + warp_size * k]};
    return combine_lanes(lane).sum;
}

/// Lanes of the team's chunks, added in the order of a tile: to the first thread.
template <class T, int K>
__device__ __forceinline__ fp::Arithmetic<T> sum_of_team(const fp::Arithmetic<T> (&sum)[K], Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    put_lanes(s.own_lane(), sum);
    sync_team();
    return for_warps([&](auto warps) {
        return merged_lanes<decltype(warps)::value, T, K>(s, [](int, int, V left, V right) { return left + right; });
    });
}
/// And to all threads.
template <class T, int K>
__device__ __forceinline__ fp::Arithmetic<T> team_sum(const fp::Arithmetic<T> (&sum)[K], Shared<T>& s) {
    const fp::Arithmetic<T> total = sum_of_team<T, K>(sum, s);
    if (threadIdx.x == 0) s.total = total;
    sync_team();
    return s.total;
}

/// Items of the first `count` threads of a warp, 32 at most, as a level merges them: to the first
/// thread.
template <class Acc>
__device__ __forceinline__ Acc merge_few(Acc own, std::uint64_t count) {
    if (threadIdx.x % warp_size >= count) own = Acc::identity();
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        if (static_cast<std::uint64_t>(distance) < count) own.merge(shuffle_down(own, distance));
    }
    return own;
}

/// A row of more than one tile may be a cluster's, a block each. What the first thread of each
/// block found out of its tile, to `of_tiles` of all blocks. Before it, every thread has arrived in
/// the cluster once: all blocks run.
template <class Item>
__device__ __forceinline__ void share_in_cluster(Item* of_tiles, Item own) {
    wait_for_cluster();
    if (threadIdx.x < warp_size) {
        own = shuffle_from(own, 0);
        if (threadIdx.x < cluster_blocks()) in_block_of_cluster(of_tiles, threadIdx.x)[cluster_rank()] = own;
    }
    arrive_in_cluster(threadIdx.x < warp_size);
    wait_for_cluster();
}
/// Of the row, what the first thread of each block found out of its tile: to the first thread.
template <class T, class Acc>
__device__ __forceinline__ Acc merged_in_cluster(Shared<T>& s, Acc own) {
    Acc* const of_tiles = s.template tiles_as<Acc>();
    share_in_cluster(of_tiles, own);
    if (threadIdx.x >= warp_size) return own;
    const std::uint32_t tiles = cluster_blocks();
    return merge_few(threadIdx.x < tiles ? of_tiles[threadIdx.x] : Acc{}, tiles);
}

/// The greater; a, if b is NaN.
__device__ __forceinline__ float greater_number(float a, float b) {
    return fmaxf(a, b);
}
__device__ __forceinline__ double greater_number(double a, double b) {
    return b > a ? b : a;
}
/// The maximum of a warp's numbers.
__device__ __forceinline__ double maximum_of_warp(double most) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2)
        most = greater_number(most, shuffle_xor(most, distance));
    return most;
}
__device__ __forceinline__ float maximum_of_warp(float most) {
    const auto in_order = [](std::int32_t bits) { return bits ^ (bits >> 31 & 0x7fffffff); };
    const auto key = in_order(static_cast<std::int32_t>(__float_as_uint(most)));
    return __uint_as_float(static_cast<std::uint32_t>(in_order(warp_max(key))));
}

} // namespace detreduce::cuda::row_kernels
