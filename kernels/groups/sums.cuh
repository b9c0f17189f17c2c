// Sums in a fixed order, of groups. The order is that of SPEC.md, section 3, of the group's elements alone; what is absent takes no part.
#pragma once

#include <cstdint>

#include "flat/kernels.cuh"
#include "groups/slots.cuh"

namespace detreduce::cuda {

/// The lanes that a thread has of a group of at most one row of lanes: the K items from `first` on, as far as they are there.
template <class Level>
__device__ __forceinline__ Lanes<typename Level::Acc, TileReader<Level>::K>
load_lanes(const typename Level::Pointer& group, std::uint64_t n, int first) {
    using Item = typename Level::Item;
    constexpr int K = TileReader<Level>::K;
    Lanes<typename Level::Acc, K> lanes;
    const std::int64_t left = static_cast<std::int64_t>(n) - first;
    if (left >= K) {
        const Pack<Item, K> pack = load_pack<Level::source, Item, K>(group + first);
#pragma unroll
        for (int k = 0; k < K; ++k)
            lanes.a[k] = Level::as_accumulator(pack.v[k]);
    } else {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            lanes.a[k] = Level::Acc::absent();
            if (k < left) lanes.a[k] = Level::as_accumulator(load_item<Level::source>(group + first + k));
        }
    }
    return lanes;
}

/// A tile of m items by one warp, chunk by chunk: a binary tree of chunks, of which those that are complete wait for their neighbours.
template <class Level>
__device__ __forceinline__ Lanes<typename Level::Acc, TileReader<Level>::K>
fold_chunks(const typename Level::Pointer& p, int m, int first_lane) {
    using Reader = TileReader<Level>;
    constexpr int chunk = Level::Order::chunk, depth = 3;
    static_assert(1 << depth == spec::chunks_per_tile);
    Lanes<typename Level::Acc, Reader::K> pending[depth], lanes;
#pragma unroll 1
    for (int c = 0; c * chunk < m; ++c) {
        const int left = m - c * chunk;
        lanes = left >= chunk ? Reader::fold_all(p + c * chunk) : Reader::fold_some(p + c * chunk, left, first_lane);
        const bool last = left <= chunk;
        bool waits = false;
#pragma unroll
        for (int d = 0; d < depth; ++d) {
            if (c >> d & 1) {
                if (waits) continue;
                pending[d].merge(lanes);
                lanes = pending[d];
            } else if (!last && !waits) {
                pending[d] = lanes;
                waits = true;
            }
        }
    }
    return lanes;
}

/// Lane j takes in lane j + half, for half = K·threads/2 … 1, where thread t has lanes t·K …; the first of the threads has the result.
template <class Acc, int K>
__device__ __forceinline__ Acc combine_neighbouring_lanes(Lanes<Acc, K>& lanes, std::uint32_t threads) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        if (distance >= static_cast<int>(threads)) continue; // the same for all
#pragma unroll
        for (int k = 0; k < K; ++k)
            lanes.a[k].merge(shuffle_down(lanes.a[k], distance));
    }
#pragma unroll
    for (int half = K / 2; half >= 1; half /= 2) {
#pragma unroll
        for (int k = 0; k < half; ++k)
            lanes.a[k].merge(lanes.a[k + half]);
    }
    return lanes.a[0];
}

/// The same for a whole warp, in which half of the threads would soon do nothing useful: as long as there are several lanes a thread, it gives half of
/// them away to the thread that it meets, for half of the other's. So lane number t·K + k ends up in another thread, but with its own partners.
template <class Acc, int K>
__device__ __forceinline__ Acc combine_lanes_of_warp(Lanes<Acc, K>& lanes) {
    const int lane = threadIdx.x % warp_size;
    int distance = warp_size / 2;
#pragma unroll
    for (int half = K / 2; half >= 1; half /= 2, distance /= 2) {
        const bool upper = lane & distance;
#pragma unroll
        for (int k = 0; k < half; ++k) {
            const Acc low = lanes.a[k], high = lanes.a[k + half];
            const Acc other = shuffle_xor(choose(upper, low, high), distance);
            lanes.a[k] = choose(upper, other, low);
            lanes.a[k].merge(choose(upper, high, other));
        }
    }
#pragma unroll
    for (int rest = warp_size / (2 * K); rest >= 1; rest /= 2)
        lanes.a[0].merge(shuffle_down(lanes.a[0], rest));
        // What is left is to bring together the K lanes of the first thread of all, which are now in as many threads.
#pragma unroll
    for (int half = K / 2, apart = warp_size / 2; half >= 1; half /= 2, apart /= 2)
        lanes.a[0].merge(shuffle_down(lanes.a[0], apart));
    return lanes.a[0];
}

/// Groups by a warp each: of more than a row of lanes and at most a tile, or segments. Large segments go to `table`.
template <class Level>
__global__ void __launch_bounds__(max_block, blocks_at_once<Level> > 2 ? blocks_at_once<Level> - 1 : 2)
    groups_kernel(const typename Level::Pointer x, const Groups groups, const Results results, const SlotTable table) {
    using Acc = typename Level::Acc;
    using Value = typename Acc::Value;
    const int lane = threadIdx.x % warp_size, first = lane * TileReader<Level>::K;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    for (std::uint64_t group = std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size;
         group < groups.count; group += warps) {
        const Span span = span_of(groups, group);
        const bool fits = span.n <= Level::Order::tile;
        if (!fits && put_on_slots(table, group, span)) continue;
        const auto begin = x + static_cast<std::int64_t>(span.begin);
        auto lanes = Lanes<Acc, TileReader<Level>::K>::absent();
        if (span.n <= Level::Order::lanes) {
            lanes = load_lanes<Level>(begin, span.n, first);
        } else if (fits) {
            lanes = fold_chunks<Level>(begin + first, static_cast<int>(span.n), first);
        }
        Acc acc = combine_lanes_of_warp(lanes);
        if (!span.valid || !fits) acc = Acc::of(fp::from_bits<Value>(fp::Format<Value>::canonical_nan));
        if (lane == 0) results.finish(group, span.n == 0 && span.valid ? Acc::of(0) : acc, span.n);
    }
}

/// Rows that a warp reads before it adds up the first.
inline constexpr int rows_in_flight = 4;

/// Rows of at most one row of lanes: so short that a warp must have several in flight. `threads` share one, a power of two and at most a warp, and
/// they have a lane or more for each element.
template <class Level>
__global__ void __launch_bounds__(max_block) short_rows_kernel(const typename Level::Pointer x, const Groups rows,
                                                               std::uint32_t threads, const Results results) {
    constexpr int K = TileReader<Level>::K, at_once = rows_in_flight;
    using Item = typename Level::Item;
    const std::uint32_t in_warp = warp_size / threads, lane = threadIdx.x % warp_size;
    const int first = static_cast<int>(lane % threads) * K, left = static_cast<int>(rows.n) - first;
    const bool vectors = x.aligned && rows.n % K == 0; // the same for all threads, or loads would wait for one another
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size),
                        warp = std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size;
    for (std::uint64_t begin = warp * in_warp * at_once; begin < rows.count; begin += warps * in_warp * at_once) {
        Pack<Item, K> packs[at_once];
        const auto place = [&](int u) { return begin + u * in_warp + lane / threads; };
        const auto at = [&](int u) { return x + static_cast<std::int64_t>(place(u) * rows.stride) + first; };
        if (vectors) {
#pragma unroll
            for (int u = 0; u < at_once; ++u) {
                if (place(u) < rows.count && left > 0) {
                    packs[u] = load_pack<Level::source, Item, K>(at(u));
                } else {
#pragma unroll
                    for (int k = 0; k < K; ++k)
                        packs[u].v[k] = Level::absent();
                }
            }
        } else {
#pragma unroll
            for (int u = 0; u < at_once; ++u) {
#pragma unroll
                for (int k = 0; k < K; ++k) {
                    const bool there = place(u) < rows.count && k < left;
                    packs[u].v[k] = there ? load_item<Level::source>(at(u) + k) : Level::absent();
                }
            }
        }
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
            Lanes<typename Level::Acc, K> lanes;
#pragma unroll
            for (int k = 0; k < K; ++k)
                lanes.a[k] = Level::as_accumulator(packs[u].v[k]);
            const std::uint64_t row = place(u);
            const auto acc = combine_neighbouring_lanes(lanes, threads);
            if (row < rows.count && lane % threads == 0) results.finish(row, acc, rows.n);
        }
    }
}

/// The tiles of rows that have more than one.
struct RowTiles {
    std::uint64_t rows, n, stride, tiles; ///< tiles: of a row
    std::uint64_t pitch;                  ///< results from one row to the next

    struct Place {
        std::uint64_t begin, to;
        std::uint32_t m;
    };
    [[nodiscard]] __device__ __forceinline__ std::uint64_t count() const { return rows * tiles; }
    [[nodiscard]] __device__ __forceinline__ Place place(std::uint64_t turn, std::uint32_t tile_items) const {
        const std::uint64_t row = turn / tiles, tile = turn - row * tiles;
        return {row * stride + tile * tile_items, row * pitch + tile, items_in_tile(tile * tile_items, n, tile_items)};
    }
};

/// A tile after the other: of rows, or, where there is a table, of its slots.
template <class Level, int TeamWarps>
__global__ void __launch_bounds__(max_block, blocks_at_once<Level>)
    tiles_kernel(const typename Level::Pointer x, const RowTiles rows, const SlotTable table,
                 typename Level::Acc* results) {
    auto* const buffer = team_buffers<BufferOf<Level, TeamWarps>>();
    const bool of_slots = table.slots != nullptr;
    const std::uint64_t count = of_slots ? slots_used(table) : rows.count();
    for (std::uint64_t turn = blockIdx.x; turn < count; turn += gridDim.x) {
        RowTiles::Place place;
        if (of_slots) {
            const Slot slot = table.slots[turn];
            place = {slot.begin, turn, slot.m};
        } else {
            place = rows.place(turn, Level::Order::tile);
        }
        const auto acc =
            reduce_tile_by_team<Level, TeamWarps>(x + static_cast<std::int64_t>(place.begin), place.m, *buffer);
        if (threadIdx.x == 0 && place.m > 0) results[place.to] = acc;
        __syncthreads(); // the buffer is used again
    }
}

/// The levels above the slots of large groups: a block a group.
template <class Partial, int TeamWarps>
__global__ void __launch_bounds__(max_block)
    large_groups_kernel(const SlotTable table, typename Partial::Acc* items, const Results results) {
    using Acc = typename Partial::Acc;
    constexpr std::uint32_t tile_items = Partial::Order::tile;
    auto* const buffer = team_buffers<BufferOf<Partial, TeamWarps>>();
    for (std::uint64_t i = blockIdx.x; i < table.used[1]; i += gridDim.x) {
        const LargeGroup group = table.large[i];
        Acc* level = items + group.first;
        for (std::uint64_t m = spec::tiles(group.n, table.length); m > 1;) {
            const std::uint64_t tiles = spec::tiles(m, tile_items);
            Acc* const above = level + (m + 3) / 4 * 4;
            for (std::uint64_t t = 0; t < tiles; ++t) {
                const auto acc = reduce_tile_by_team<Partial, TeamWarps>(
                    level + t * tile_items, items_in_tile(t * tile_items, m, tile_items), *buffer);
                if (threadIdx.x == 0 && tiles == 1) results.finish(group.group, acc, group.n);
                if (threadIdx.x == 0 && tiles > 1) above[t] = acc;
                __syncthreads(); // the buffer is used again, and the level above is read
            }
            level = above;
            m = tiles;
        }
    }
}

} // namespace detreduce::cuda
