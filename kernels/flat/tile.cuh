// One tile of `tree` (lib/SPEC.md, section 3) on the GPU. A row of a tile is one 512-byte load of a warp; thread t holds lanes
// t·K … t·K + K − 1. A tile is worked on by a team of 4 or 8 warps: each takes 8 / team neighbouring chunks, which is a subtree
// of the chunk tree, so who executes a tile never changes a bit.
#pragma once

#include <cstdint>

#include <detreduce/spec/tree_order.hpp>

#include "flat/load.cuh"

namespace detreduce::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned all_threads = 0xffffffffu;

/// The lanes of one thread.
template <class Acc, int K>
struct Lanes {
    Acc a[K];

    static __device__ __forceinline__ Lanes absent() {
        Lanes lanes;
#pragma unroll
        for (int k = 0; k < K; ++k)
            lanes.a[k] = Acc::absent();
        return lanes;
    }
    __device__ __forceinline__ void merge(const Lanes& right) {
#pragma unroll
        for (int k = 0; k < K; ++k)
            a[k].merge(right.a[k]);
    }
};

template <class Value>
__device__ __forceinline__ Value shuffle_down(const Value& value, int distance) {
    static_assert(sizeof(Value) % 4 == 0);
    constexpr int words = sizeof(Value) / 4;
    std::uint32_t raw[words];
    __builtin_memcpy(raw, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < words; ++i)
        raw[i] = __shfl_down_sync(all_threads, raw[i], distance);
    Value moved;
    __builtin_memcpy(&moved, raw, sizeof moved);
    return moved;
}

/// Lane j takes in lane j + half, for half = lanes/2 … 1; thread 0 of the warp has the result.
template <class Acc, int K>
__device__ __forceinline__ Acc combine_lanes(Lanes<Acc, K> lanes) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
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

/// The input: elements are added.
template <class T, class AccT, bool Aligned>
struct InputLevel {
    using Item = T;
    using Acc = AccT;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Aligned ? Source::aligned_input : Source::any_input;
    static __device__ __forceinline__ void take(Acc& a, const Item& x) { a.add(x); }
};

/// Any level above: partial results are merged. F is the accumulator's floating-point type.
template <class F, class AccT>
struct PartialLevel {
    using Item = AccT;
    using Acc = AccT;
    using Order = spec::TreeOrder<sizeof(F)>;
    static constexpr Source source = Source::partials;
    static __device__ __forceinline__ void take(Acc& a, const Item& x) { a.merge(x); }
};

template <class Level>
struct TileReader {
    using Item = typename Level::Item;
    using Acc = typename Level::Acc;
    using Order = typename Level::Order;
    static constexpr int K = Order::lanes / warp_size;
    static constexpr int rows = spec::rows_per_chunk;
    using Packs = Pack<Item, K>[rows];

    static __device__ __forceinline__ void take(Lanes<Acc, K>& lanes, const Pack<Item, K>& row) {
#pragma unroll
        for (int k = 0; k < K; ++k)
            Level::take(lanes.a[k], row.v[k]);
    }

    /// A chunk; `p` points to the thread's first item in it.
    static __device__ __forceinline__ Lanes<Acc, K> fold_all(const Item* p) {
        Packs packs;
#pragma unroll
        for (int r = 0; r < rows; ++r)
            packs[r] = load_pack<Level::source, Item, K>(p + r * Order::lanes);
        auto lanes = Lanes<Acc, K>::absent();
#pragma unroll
        for (int r = 0; r < rows; ++r)
            take(lanes, packs[r]);
        return lanes;
    }

    /// A chunk of which only `m` items exist (any m, also ≤ 0 or more than a chunk): whole rows, then at most one short one. All
    /// loads start before the first is used: the upper levels are short, and there it is latency that counts.
    static __device__ __forceinline__ Lanes<Acc, K> fold_some(const Item* p, int m, int first_lane) {
        constexpr int lanes_in_row = Order::lanes;
        const int whole = m < 0 ? 0 : (m / lanes_in_row < rows ? m / lanes_in_row : rows);
        const int in_short_row = whole < rows ? m - whole * lanes_in_row - first_lane : 0;
        const Item* const short_row = p + whole * lanes_in_row;
        Packs packs;
        Pack<Item, K> last;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (r < whole) packs[r] = load_pack<Level::source, Item, K>(p + r * lanes_in_row);
        }
#pragma unroll
        for (int k = 0; k < K; ++k) {
            if (k < in_short_row) last.v[k] = load_item<Level::source>(short_row + k);
        }
        auto lanes = Lanes<Acc, K>::absent();
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (r < whole) take(lanes, packs[r]);
        }
#pragma unroll
        for (int k = 0; k < K; ++k) {
            if (k < in_short_row) Level::take(lanes.a[k], last.v[k]);
        }
        return lanes;
    }

    /// A binary tree over `Count` chunks, the c-th of which is fold_one(c).
    template <int Count, class FoldOne>
    static __device__ __forceinline__ Lanes<Acc, K> fold_chunks(const FoldOne& fold_one) {
        Lanes<Acc, K> pending[4]; // a binary counter: pending[d] holds 2^d chunks that wait for their right neighbours
        Lanes<Acc, K> lanes;
#pragma unroll
        for (int c = 0; c < Count; ++c) {
            lanes = fold_one(c);
            int d = 0;
#pragma unroll
            for (int bit = c; bit % 2 == 1; bit /= 2, ++d) {
                pending[d].merge(lanes);
                lanes = pending[d];
            }
            pending[d] = lanes;
        }
        return lanes;
    }

    /// Chunks [first, first + Count) of the tile at `tile` with `m` items.
    template <int Count>
    static __device__ __forceinline__ Lanes<Acc, K> fold_part(const Item* tile, std::uint32_t m, int first) {
        const int first_lane = (threadIdx.x % warp_size) * K;
        const Item* const p = tile + first * Order::chunk + first_lane;
        if (m == Order::tile) {
            return fold_chunks<Count>([&](int c) { return fold_all(p + c * Order::chunk); });
        }
        const int left = static_cast<int>(m) - first * static_cast<int>(Order::chunk);
        return fold_chunks<Count>([&](int c) {
            return fold_some(p + c * Order::chunk, left - c * static_cast<int>(Order::chunk), first_lane);
        });
    }
};

/// Shared memory of one team: its warps' lanes.
template <class Acc, int K, int TeamWarps>
struct TeamBuffer {
    Lanes<Acc, K> lanes[TeamWarps][warp_size];
};

/// The tile at `tile` by a team of warps, all of whose threads call this; thread 0 of the team has the result. `buffer` may be
/// used again after a barrier. m = 0: nothing to do, but the barrier is still met.
template <class Level, int TeamWarps, class Buffer>
__device__ __forceinline__ typename Level::Acc reduce_tile_by_team(const typename Level::Item* tile, std::uint32_t m,
                                                                   Buffer& buffer) {
    using Reader = TileReader<Level>;
    using Acc = typename Level::Acc;
    constexpr int chunks = spec::chunks_per_tile / TeamWarps;
    const int thread = threadIdx.x % warp_size;
    const int warp = threadIdx.x / warp_size % TeamWarps;
    if (m > 0) buffer.lanes[warp][thread] = Reader::template fold_part<chunks>(tile, m, warp * chunks);
    __syncthreads();
    if (warp != 0 || m == 0) return Acc::absent();
    Lanes<Acc, Reader::K> lanes[TeamWarps];
#pragma unroll
    for (int w = 0; w < TeamWarps; ++w)
        lanes[w] = buffer.lanes[w][thread];
#pragma unroll
    for (int step = 1; step < TeamWarps; step *= 2) {
#pragma unroll
        for (int w = 0; w < TeamWarps; w += 2 * step)
            lanes[w].merge(lanes[w + step]);
    }
    return combine_lanes(lanes[0]);
}

} // namespace detreduce::cuda
