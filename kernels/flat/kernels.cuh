// The kernels of the flat shape. Every schedule is the same two steps: reduce tiles, then climb the levels.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include <detreduce/fp/bits.hpp>
#include <detreduce/plan.hpp>

#include "flat/tile.cuh"

namespace detreduce::cuda {

/// Where results go: level l holds the results of the tiles of level l − 1 (l = 0: of the input).
template <class Acc, class T>
struct Levels {
    std::uint64_t tiles[max_levels];    ///< results in level l; 1 means that this is the root
    Acc* partials[max_levels];          ///< tiles[l] results
    std::uint32_t* done[max_levels];    ///< last_block: done[l][g] results of group g (one tile of level l + 1) are there
    T* out;

    /// The levels from `level` on, so that a kernel that works on one level finds it at index 0, a compile-time constant.
    [[nodiscard]] Levels from(int level) const {
        Levels shifted = *this;
        for (int l = 0; l < max_levels; ++l) {
            const int source = l + level < max_levels ? l + level : max_levels - 1;
            shifted.tiles[l] = tiles[source];
            shifted.partials[l] = partials[source];
            shifted.done[l] = done[source];
        }
        return shifted;
    }

    __device__ __forceinline__ void store(int level, std::uint64_t i, const Acc& acc) const {
        if (tiles[level] == 1) {
            *out = fp::canonical(acc.finish());
        } else {
            partials[level][i] = acc;
        }
    }
};

/// Items of the tile that begins at item `begin` of n.
__device__ __forceinline__ std::uint32_t items_in_tile(std::uint64_t begin, std::uint64_t n, std::uint32_t tile) {
    if (begin >= n) return 0;
    return n - begin < tile ? static_cast<std::uint32_t>(n - begin) : tile;
}

/// How the tiles of a level are dealt to blocks. A block's turn is either one tile for each of its warps (bulk: no barrier, best
/// in the long run; full tiles only) or one tile for each of its teams (fine: best for the last turns and for small n).
struct Deal {
    std::uint64_t bulk_turns;
    std::uint64_t turns;
};

template <int TeamWarps, class Acc, class Order>
struct BlockShape {
    using Buffer = TeamBuffer<Acc, Order::lanes / warp_size, TeamWarps>;
    static __device__ __forceinline__ std::uint32_t warps() { return blockDim.x / warp_size; }
    static __device__ __forceinline__ std::uint32_t teams() { return blockDim.x / (warp_size * TeamWarps); }
};

/// Range of results of one turn.
struct Turn {
    std::uint64_t first;
    std::uint32_t count;
};

/// One turn of the block: reduces its tiles of level `level` (whose items are at x) and stores the results.
template <class Level, int TeamWarps, class Levels, class Buffer>
__device__ __forceinline__ Turn take_turn(const typename Level::Item* x, std::uint64_t n, const Deal& deal, std::uint64_t turn,
                                          const Levels& levels, int level, Buffer* buffers) {
    using Order = typename Level::Order;
    using Shape = BlockShape<TeamWarps, typename Level::Acc, Order>;
    const std::uint32_t warps = Shape::warps(), teams = Shape::teams();
    const bool bulk = turn < deal.bulk_turns;
    const std::uint32_t mine = threadIdx.x / (bulk ? warp_size : warp_size * TeamWarps);
    const std::uint64_t first = bulk ? turn * warps : deal.bulk_turns * warps + (turn - deal.bulk_turns) * teams;
    const std::uint64_t tile = first + mine, begin = tile * Order::tile;
    if (bulk) {
        const auto acc = reduce_full_tile_by_warp<Level>(x + begin);
        if (threadIdx.x % warp_size == 0) levels.store(level, tile, acc);
    } else {
        const std::uint32_t m = items_in_tile(begin, n, Order::tile);
        const auto acc = reduce_tile_by_team<Level, TeamWarps>(x + begin, m, buffers[mine]);
        if (threadIdx.x % (warp_size * TeamWarps) == 0 && m > 0) levels.store(level, tile, acc);
    }
    const std::uint64_t left = levels.tiles[level] - first;
    const std::uint32_t most = bulk ? warps : teams;
    return {first, left < most ? static_cast<std::uint32_t>(left) : most};
}

template <class Level, int TeamWarps>
using BufferOf = typename BlockShape<TeamWarps, typename Level::Acc, typename Level::Order>::Buffer;

extern __shared__ uint4 detreduce_shared[];

template <class Buffer>
__device__ __forceinline__ Buffer* team_buffers() {
    return reinterpret_cast<Buffer*>(detreduce_shared);
}

/// two_pass: one level, whose results are levels.partials[0].
template <class Level, int TeamWarps, class Levels>
__global__ void level_kernel(const typename Level::Item* x, std::uint64_t n, Deal deal, Levels levels) {
    auto* const buffers = team_buffers<BufferOf<Level, TeamWarps>>();
    for (std::uint64_t turn = blockIdx.x; turn < deal.turns; turn += gridDim.x) {
        (void)take_turn<Level, TeamWarps>(x, n, deal, turn, levels, 0, buffers);
        __syncthreads(); // the buffers are used again
    }
}

/// last_block: the block that completes a group of results reduces it, and so on up to the root.
template <class Partial, int TeamWarps, class Levels, class Buffer>
__device__ void climb(const Levels& levels, Turn turn, Buffer* buffers) {
    using Order = typename Partial::Order;
    __shared__ bool group_is_complete;
#pragma unroll
    for (int level = 0; level + 1 < max_levels; ++level) {
        if (levels.tiles[level] == 1) return;
        const std::uint64_t group = turn.first / Order::tile;
        const std::uint32_t size = items_in_tile(group * Order::tile, levels.tiles[level], Order::tile);
        __syncthreads(); // the block's results are stored
        if (threadIdx.x == 0) {
            __threadfence(); // … and visible to the block that sees our count
            group_is_complete = atomicAdd(&levels.done[level][group], turn.count) + turn.count == size;
            __threadfence(); // what others counted before us is visible to us
        }
        __syncthreads();
        if (!group_is_complete) return;
        const auto* const items = levels.partials[level] + group * Order::tile;
        const bool first_team = threadIdx.x < warp_size * TeamWarps;
        const auto acc = reduce_tile_by_team<Partial, TeamWarps>(items, first_team ? size : 0, buffers[0]);
        if (threadIdx.x == 0) levels.store(level + 1, group, acc);
        turn = {group, 1};
    }
}

template <class Level, class Partial, int TeamWarps, class Levels>
__global__ void last_block_kernel(const typename Level::Item* x, std::uint64_t n, Deal deal, Levels levels) {
    auto* const buffers = team_buffers<BufferOf<Level, TeamWarps>>();
    for (std::uint64_t turn = blockIdx.x; turn < deal.turns; turn += gridDim.x) {
        const Turn done = take_turn<Level, TeamWarps>(x, n, deal, turn, levels, 0, buffers);
        climb<Partial, TeamWarps>(levels, done, team_buffers<BufferOf<Partial, TeamWarps>>());
        __syncthreads();
    }
}

/// cooperative: grid-wide barriers between levels.
template <class Level, class Partial, int TeamWarps, class Levels>
__global__ void cooperative_kernel(const typename Level::Item* x, std::uint64_t n, Deal deal, Levels levels) {
    auto* const buffers = team_buffers<BufferOf<Level, TeamWarps>>();
    for (std::uint64_t turn = blockIdx.x; turn < deal.turns; turn += gridDim.x) {
        (void)take_turn<Level, TeamWarps>(x, n, deal, turn, levels, 0, buffers);
        __syncthreads();
    }
    auto* const upper = team_buffers<BufferOf<Partial, TeamWarps>>();
    const std::uint32_t teams = BlockShape<TeamWarps, typename Partial::Acc, typename Partial::Order>::teams();
#pragma unroll
    for (int level = 0; level + 1 < max_levels; ++level) {
        if (levels.tiles[level] == 1) return;
        cooperative_groups::this_grid().sync();
        const Deal fine{0, spec::tiles(levels.tiles[level + 1], teams)};
        for (std::uint64_t turn = blockIdx.x; turn < fine.turns; turn += gridDim.x) {
            (void)take_turn<Partial, TeamWarps>(levels.partials[level], levels.tiles[level], fine, turn, levels, level + 1, upper);
            __syncthreads();
        }
    }
}

/// atomic: what most programs do. Each block adds up tiles as they come; the blocks' sums meet in a floating-point atomic.
template <class Level>
__global__ void atomic_kernel(const typename Level::Item* x, std::uint64_t n, typename Level::Item* out) {
    using Reader = TileReader<Level>;
    using Acc = typename Level::Acc;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    const std::uint64_t first = blockIdx.x * std::uint64_t{blockDim.x / warp_size} + threadIdx.x / warp_size;
    auto lanes = Lanes<Acc, Reader::K>::absent();
    for (std::uint64_t chunk = first; chunk * Level::Order::chunk < n; chunk += stride) {
        const std::uint64_t begin = chunk * Level::Order::chunk;
        const int first_lane = threadIdx.x % warp_size * Reader::K;
        if (n - begin >= Level::Order::chunk) {
            lanes.merge(Reader::template fold_chunks<1>(x + begin + first_lane));
        } else {
            lanes.merge(Reader::fold_some(x + begin + first_lane, static_cast<int>(n - begin), first_lane));
        }
    }
    __shared__ typename Level::Item block_sum;
    if (threadIdx.x == 0) block_sum = 0;
    __syncthreads();
    const Acc acc = combine_lanes(lanes);
    if (threadIdx.x % warp_size == 0) atomicAdd(&block_sum, acc.finish());
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, block_sum);
}

} // namespace detreduce::cuda
