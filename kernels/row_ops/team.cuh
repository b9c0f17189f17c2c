// What the warps of a row share: their memory, and sums of all their lanes (row_ops/chunk.cuh).
#pragma once

#include <algorithm>
#include <cmath>

#include "platform/cluster.cuh"
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

/// What is known of a chunk whose warp has added it up.
template <class V>
struct ChunkSum {
    V maximum, sum;
};

/// Shared memory of a team, with the lanes of its warps behind.
template <class T>
struct alignas(16) Shared {
    using V = fp::Arithmetic<T>;
    static constexpr int lanes = spec::TreeOrder<sizeof(T)>::lanes;
    V tiles[3 * most_few_tiles]; ///< of a row of few tiles: up to three numbers of each
    Arrival arrival;             ///< of what a cluster's blocks tell each other
    template <class Acc>
    using Upper = BufferOf<PartialLevel<Acc>, most_warps>;
    V total;
    V maximum[most_warps];
    ChunkSum<V> chunks[most_warps];
    spec::ExpState<T> state;
    spec::ExpSum<T> sum;
    RowTarget<V> target;
    template <class Acc>
    [[nodiscard]] __device__ __forceinline__ Acc* tiles_as() {
        static_assert(sizeof(Acc) <= 3 * sizeof(V));
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
    [[nodiscard]] static constexpr std::size_t bytes(std::uint32_t warps, bool has_levels) {
        const std::size_t of_lanes = warps * lanes * sizeof(V);
        const std::size_t above = std::max(sizeof(Upper<acc::Rounded<V>>), sizeof(Upper<spec::ExpState<T>>));
        return sizeof(Shared) + (has_levels ? std::max(of_lanes, above) : of_lanes);
    }
};

/// f(the number of the team's warps as a constant): its loops are unrolled. OfTile: it is that of a
/// tile's chunks.
template <bool OfTile = false, class F>
__device__ __forceinline__ auto for_warps(const F& f) {
    if constexpr (OfTile) return f(std::integral_constant<int, most_warps>{});
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

/// A warp's lanes, which it has put there, added in the order of a tile: to the first thread.
template <int K, class V>
__device__ __forceinline__ V sum_of_warp(const V* lanes) {
    acc::Rounded<V> lane[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
        lane[k] = {lanes[threadIdx.x % warp_size + warp_size * k]};
    return combine_lanes(lane).sum;
}

/// Threads that add up the lanes of chunks, 16 bytes each: of one warp, or two.
template <class T>
inline constexpr int merging_threads = spec::TreeOrder<sizeof(T)>::lanes * sizeof(fp::Arithmetic<T>) / 16;
template <class T>
inline constexpr bool one_warp_merges = merging_threads<T> == warp_size;

/// Lane by lane, the sums of the lanes of Warps chunks, the first of which lie at lane(first): to
/// the place of the first chunk's, by the merging threads.
template <int Warps, class T>
__device__ __forceinline__ void add_places(Shared<T>& s, int first) {
    using V = fp::Arithmetic<T>;
    constexpr int together = 16 / sizeof(V);
    using Some = Pack<V, together>;
    const int own = static_cast<int>(threadIdx.x) * together;
    Some part[Warps];
#pragma unroll
    for (int w = 0; w < Warps; ++w)
        part[w] = *reinterpret_cast<const Some*>(s.lane(first + w) + own);
#pragma unroll
    for (int step = 1; step < Warps; step *= 2) {
#pragma unroll
        for (int w = 0; w < Warps; w += 2 * step) {
#pragma unroll
            for (int i = 0; i < together; ++i)
                part[w].v[i] = part[w].v[i] + part[w + step].v[i];
        }
    }
    *reinterpret_cast<Some*>(s.lane(first) + own) = part[0];
}
/// Sums that are added up together.
template <class V, int Count>
using Sums = Lanes<acc::Rounded<V>, Count>;
/// Of Count times the lanes of Warps chunks, one time behind the other: each added so, and then in
/// the order of a tile: to the first thread.
template <int Warps, int Count, class T>
__device__ __forceinline__ Sums<fp::Arithmetic<T>, Count> added_lanes(Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    constexpr int K = spec::TreeOrder<sizeof(T)>::lanes / warp_size;
    if (one_warp_merges<T> && threadIdx.x >= warp_size) return {};
    if constexpr (Warps > 1) {
        if (threadIdx.x < merging_threads<T>) {
#pragma unroll
            for (int i = 0; i < Count; ++i)
                add_places<Warps>(s, i * Warps);
        }
        // (A barrier of the two alone is as good, but racecheck then takes others for none.)
        one_warp_merges<T> ? sync_warp() : sync_team();
    }
    if (threadIdx.x >= warp_size) return {};
    Sums<V, Count> all;
#pragma unroll
    for (int i = 0; i < Count; ++i)
        all.a[i] = {sum_of_warp<K>(s.lane(i * Warps))};
    return all;
}

/// Lanes of the team's chunks, added in the order of a tile: to the first thread.
template <bool OfTile = false, class T, int Count, int K>
__device__ __forceinline__ Sums<fp::Arithmetic<T>, Count> sums_of_team(const fp::Arithmetic<T> (&lane)[Count][K],
                                                                       Shared<T>& s) {
    const int warp = static_cast<int>(threadIdx.x) / warp_size, warps = static_cast<int>(blockDim.x) / warp_size;
#pragma unroll
    for (int i = 0; i < Count; ++i)
        put_lanes(s.lane(i * warps + warp), lane[i]);
    sync_team();
    return for_warps<OfTile>([&](auto of_team) { return added_lanes<decltype(of_team)::value, Count>(s); });
}
/// And to all threads.
template <class T, int K>
__device__ __forceinline__ fp::Arithmetic<T> team_sum(const fp::Arithmetic<T> (&lane)[1][K], Shared<T>& s) {
    const fp::Arithmetic<T> total = sums_of_team(lane, s).a[0].sum;
    if (threadIdx.x == 0) s.total = total;
    sync_team();
    return s.total;
}

/// Items of `count` threads of a warp, as a level merges them: to the first of them. A power of two
/// of threads from that one on have an item, or the identity.
template <class Acc>
__device__ __forceinline__ Acc merge_few(Acc own, std::uint64_t count) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        if (static_cast<std::uint64_t>(distance) < count) own.merge(shuffle_down(own, distance));
    }
    return own;
}

/// A row of more than one tile may be a cluster's: what its blocks tell each other of their tiles,
/// one each, or of their warps' chunks. Early: as policy::waits_early() says.
template <bool Early>
struct Cluster {
    /// What a block does before all else. Known: as Arrival::make() says; ptxas cannot tell in
    /// some kernels of rows that begin anywhere.
    template <bool Known>
    static __device__ __forceinline__ void begin(Arrival& arrival) {
        arrival.make<Known>();
        sync_warp();
        arrive_in_cluster();
        if (Early) wait_for_cluster();
    }
    /// All but the first warp, which have nothing to store. They wait for the cluster as well: to
    /// racecheck that is a barrier of all threads, at which it stands still without them.
    static __device__ __forceinline__ bool is_done() {
        if (threadIdx.x < warp_size) return false;
        if (!Early) wait_for_cluster();
        return true;
    }
    /// What the first thread of each block found out of its tile: that of tile i, to thread i of
    /// each, by the first warp. All else that a block waits for is what is stored in its own
    /// memory.
    template <class Item>
    static __device__ __forceinline__ Item share(Item* of_tiles, Item own, const Arrival& arrival) {
        if (!Early) wait_for_cluster(); // all blocks run
        own = shuffle_from(own, 0);
        if (threadIdx.x < cluster_blocks()) arrival.put(of_tiles + cluster_rank(), threadIdx.x, own);
        arrival.wait(cluster_blocks() * sizeof(Item));
        return threadIdx.x < cluster_blocks() ? of_tiles[threadIdx.x] : Item::identity();
    }
    /// What the first thread of each warp of the cluster knows, to `items` of each block, in order,
    /// where its first warp sees them: how many these are.
    template <class Item>
    static __device__ __forceinline__ int share_of_warps(Item* items, Item own, const Arrival& arrival) {
        const std::uint32_t warps = blockDim.x / warp_size, thread = threadIdx.x % warp_size;
        if (!Early) wait_for_cluster(); // all blocks run
        own = shuffle_from(own, 0);
        if (thread < cluster_blocks())
            arrival.put(items + cluster_rank() * warps + threadIdx.x / warp_size, thread, own);
        const std::uint32_t count = cluster_blocks() * warps;
        if (threadIdx.x < warp_size) arrival.wait(count * sizeof(Item));
        return static_cast<int>(count);
    }
    /// Of the row, what the first thread of each block found out of its tile: to the first thread.
    template <class T, class Acc>
    static __device__ __forceinline__ Acc merged(Shared<T>& s, Acc own) {
        if (is_done()) return own;
        return merge_few(share(s.template tiles_as<Acc>(), own, s.arrival), cluster_blocks());
    }
};

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
