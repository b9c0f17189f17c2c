// Sums in a fixed order of the columns of a matrix. A thread has C neighbouring columns, so that a
// warp reads rows of the matrix in whole cache lines; lanes of the order are then items of a
// column, and not threads. Warp w of a block takes the lanes w, w + 8, …, which are a subtree of
// the tree of lanes, in bit-reversed order: lane j is to take in lane j + half, for
// half = lanes/2 … 8, and so neighbours in the visit are merged first. The last three steps are the
// warps' results.
#pragma once

#include <cstdint>

#include "sequence/launch.cuh"

namespace detreduce::cuda {

/// The matrix: `columns` columns of n items each, rows of the matrix `stride` items apart.
struct ColumnRange {
    std::uint64_t columns, n, stride;
    bool vectors; ///< C neighbours of a row may be loaded at once
};

/// C columns of a thread, which are one load of 16 bytes; of 16-bit types half of that where the
/// accumulator is of two words. Two where it is of more: a block has 48 KiB of shared memory.
template <class T, class Acc>
inline constexpr int columns_a_thread = fp::is_f64<T> || sizeof(Acc) > 2 * sizeof(float) ? 2
                                        : fp::is_f32<T> || sizeof(Acc) > sizeof(float)   ? 4
                                                                                         : 8;

/// The thread's columns in the row of the matrix at p, which points to its first one: neighbours,
/// or, where they cannot be loaded at once, a warp apart and as far as they are there.
template <class T, int C>
__device__ __forceinline__ Pack<T, C> load_columns(const T* p, std::uint64_t remaining, bool vectors) {
    Pack<T, C> pack;
    if (vectors) {
        if constexpr (sizeof pack == 16) {
            const uint4 raw = load16<Source::aligned_input>(p);
            __builtin_memcpy(&pack, &raw, sizeof pack);
        } else {
            using Raw = std::conditional_t<sizeof pack == 8, uint2, std::uint32_t>;
            const Raw raw = load_read_only(reinterpret_cast<const Raw*>(p));
            __builtin_memcpy(&pack, &raw, sizeof pack);
        }
    } else {
#pragma unroll
        for (int k = 0; k < C; ++k)
            pack.v[k] = static_cast<std::uint64_t>(k * warp_size) < remaining ? load_number(p + k * warp_size) : T{};
    }
    return pack;
}
template <class T, int C, Alignment A>
__device__ __forceinline__ Pack<T, C> load_columns(const OneInput<T, A>& p, std::uint64_t remaining, bool vectors) {
    return load_columns<T, C>(p.x, remaining, vectors);
}
template <class T, int C, Alignment A>
__device__ __forceinline__ Pack<Both<T>, C> load_columns(const TwoInputs<T, A>& p, std::uint64_t remaining,
                                                         bool vectors) {
    const auto x = load_columns<T, C>(p.x, remaining, vectors), y = load_columns<T, C>(p.y, remaining, vectors);
    return both_of(x, y);
}

/// As PendingTree, for parts that are seldom complete: those that wait do so in shared memory,
/// `pending` is the thread's first word of it.
template <class Acc, int C>
struct SharedTree {
    Acc* pending;

    /// merge_of(i, d)(left, right) merges 2^d parts from part i on with those behind them.
    template <class MergeOf>
    __device__ __forceinline__ void take(int i, Lanes<Acc, C>& part, bool last, const MergeOf& merge_of) {
        Acc* at = pending;
        for (int d = 0; i & 1; i >>= 1, ++d, at += C * max_block) {
            const auto merge = merge_of((i - 1) << d, d);
#pragma unroll
            for (int k = 0; k < C; ++k) {
                Acc sum = at[k * max_block];
                merge(sum, part.a[k]);
                part.a[k] = sum;
            }
        }
        if (last) return;
#pragma unroll
        for (int k = 0; k < C; ++k)
            at[k * max_block] = part.a[k];
    }
};

/// The rows of lane j in a chunk of m items, whose first of that lane is at p.
template <class Level, class T, int C>
__device__ __forceinline__ Lanes<typename Level::Acc, C>
fold_lane(const typename Level::Pointer& p, int j, int m, std::uint64_t stride, std::uint64_t remaining, bool vectors) {
    constexpr int lanes = Level::Order::lanes, rows = spec::rows_per_chunk;
    const auto row_step = static_cast<std::int64_t>(lanes * stride);
    Pack<typename Level::Item, C> packs[rows];
    if (vectors &&
        m >= static_cast<int>(
                 Level::Order::
                     chunk)) { // apart from what follows, so that all loads start before anything waits for the first
#pragma unroll
        for (int r = 0; r < rows; ++r)
            packs[r] = load_columns<T, C>(p + r * row_step, remaining, true);
        return fold_rows<Level, C>(packs);
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        if (r * lanes + j < m) {
            packs[r] = load_columns<T, C>(p + r * row_step, remaining, vectors);
        } else {
#pragma unroll
            for (int k = 0; k < C; ++k)
                packs[r].v[k] = Level::identity();
        }
    }
    return fold_rows<Level, C, rows, 0>(packs,
                                        [=](int) { return m - j > rows * lanes ? rows : (m - 1 - j) / lanes + 1; });
}

/// Lanes of the order that a warp has.
template <class Level>
inline constexpr int lanes_of_warp = Level::Order::lanes / block_warps;

/// The warp's lanes of the tile of m items at p, of the thread's columns: each first over all
/// chunks.
template <class Level, class T, int C>
__device__ __forceinline__ Lanes<typename Level::Acc, C>
fold_columns(const typename Level::Pointer& p, int m, std::uint64_t stride, std::uint64_t remaining, bool vectors,
             SharedTree<typename Level::Acc, C> lanes) {
    constexpr int chunk = Level::Order::chunk, count = lanes_of_warp<Level>;
    using Part = Lanes<typename Level::Acc, C>;
    const int warp = threadIdx.x / warp_size;
    const Merges<Level> merges(m);
    const auto lane_at = [&](int i) {
        return warp + block_warps * static_cast<int>(__brev(static_cast<unsigned>(i)) >> (32 - spec::ceil_log2(count)));
    };
    Part lane;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
        const int j = lane_at(i);
        lane = Part::identity();
        PendingTree<Part> chunks;
#pragma unroll 1
        for (int c = 0; c * chunk + j < m; ++c) {
            const int rest = m - c * chunk;
            lane = fold_lane<Level, T, C>(p + static_cast<std::int64_t>((c * chunk + j) * stride), j, rest, stride,
                                          remaining, vectors);
            chunks.take(c, lane, rest - chunk <= j, [&](Part& left, const Part& right, int d, int last) {
                const auto merge = merges.chunk_pair(j, d, last);
#pragma unroll
                for (int k = 0; k < C; ++k)
                    merge(left.a[k], right.a[k]);
            });
        }
        lanes.take(i, lane, i + 1 == count, [&](int first, int d) {
            return merges.lane_pair(lane_at(first), static_cast<int>(Level::Order::lanes / 2) >> d);
        });
    }
    return lane;
}

/// Is the accumulator of 16-bit elements more than a sum?
template <class Level>
inline constexpr bool column_of_more = fp::has_16_bits<typename Level::Item> && sizeof(typename Level::Acc) > 4 &&
                                       !Level::Acc::keeps_errors;

/// Tiles of all columns, one behind the other: first all columns of the first tile, 32·C to a
/// block.
template <class Level, class T, class Levels>
__global__ void __launch_bounds__(max_block, (column_of_more<Level> ? policy::columns_of_more : policy::columns).blocks)
    columns_kernel(const typename Level::Pointer x, const ColumnRange range, const Levels levels) {
    using Acc = typename Level::Acc;
    constexpr int C = columns_a_thread<T, Acc>, block_columns = C * warp_size;
    constexpr std::uint32_t tile_items = Level::Order::tile;
    static_assert(block_columns <= max_block);
    __shared__ Acc of_warp[block_warps][block_columns];
    __shared__ Acc pending[spec::ceil_log2(lanes_of_warp<Level>)][C][max_block];
    const std::uint32_t lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const std::uint64_t across = (range.columns + block_columns - 1) / block_columns, all = across * levels.tiles[0];
    for (std::uint64_t iteration = blockIdx.x; iteration < all; iteration += gridDim.x) {
        const std::uint64_t tile = iteration / across, base = (iteration - tile * across) * block_columns;
        const std::uint32_t m = items_in_tile(tile * tile_items, range.n, tile_items);
        const bool vectors = range.vectors && base + block_columns <= range.columns;
        const std::uint64_t first = base + (vectors ? lane * C : lane);
        auto lanes = Lanes<Acc, C>::identity();
        if (first < range.columns) {
            lanes = fold_columns<Level, T, C>(x + static_cast<std::int64_t>(tile * tile_items * range.stride + first),
                                              static_cast<int>(m), range.stride, range.columns - first, vectors,
                                              {&pending[0][0][threadIdx.x]});
        }
#pragma unroll
        for (int k = 0; k < C; ++k)
            of_warp[warp][vectors ? lane * C + k : lane + k * warp_size] = lanes.a[k];
        __syncthreads();
        const std::uint64_t column = base + threadIdx.x;
        if (threadIdx.x < block_columns && column < range.columns) {
            const Merges<Level> merges(static_cast<int>(m));
            Acc part[block_warps];
#pragma unroll
            for (int w = 0; w < block_warps; ++w)
                part[w] = of_warp[w][threadIdx.x];
#pragma unroll
            for (int half = block_warps / 2; half >= 1; half /= 2) {
#pragma unroll
                for (int w = 0; w < half; ++w)
                    merges.lane_pair(w, half)(part[w], part[w + half]);
            }
            levels.store(0, tile, part[0], column);
        }
        __syncthreads(); // of_warp is used again
    }
}

template <class Level, class T, class Acc>
[[nodiscard]] Status run_columns(const FlatLaunch<T, Acc>& flat, const typename Level::Pointer& input) {
    constexpr int C = columns_a_thread<T, typename Level::Acc>;
    const auto& levels = flat.levels;
    ColumnRange range{levels.rows, flat.n(), levels.stride, false};
    const auto on_vectors = [](const T* p) { return reinterpret_cast<std::uintptr_t>(p) % (C * sizeof(T)) == 0; };
    range.vectors = on_vectors(input.x) && range.stride % C == 0;
    if constexpr (requires { input.y; }) range.vectors &= on_vectors(input.y);
    const std::uint64_t iterations = spec::tiles(range.columns, C * warp_size) * levels.tiles[0];
    const Status status = flat.launch(LaunchKind::plain, columns_kernel<Level, T, Levels<Acc>>, flat.grid(iterations),
                                      0, input, range, levels);
    return status.ok() ? reduce_upper_levels<Acc, block_warps>(flat) : status;
}

} // namespace detreduce::cuda
