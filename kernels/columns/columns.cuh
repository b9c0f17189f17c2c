// Sums in a fixed order of the columns of a matrix. A thread has C neighbouring columns of one chunk to itself, so that a warp reads rows of the
// matrix in whole cache lines; lanes of the order are then items of a column, one behind the other, and not threads. They are visited in
// bit-reversed order: lane j is to take in lane j + half, for half = lanes/2 … 1, and so neighbours in the visit are merged first.
#pragma once

#include <cstdint>

#include "flat/launch.cuh"

namespace detreduce::cuda {

/// The matrix: `columns` columns of n items each, rows of the matrix `stride` items apart.
struct ColumnRange {
    std::uint64_t columns, n, stride;
    bool vectors;        ///< C neighbours of a row may be loaded at once
    std::uint32_t warps; ///< that share a tile: 1, 2, 4 or 8, as many as it has chunks, or more
};

/// C columns of a thread; of 16-bit types half of what fits in a load, or there would be no registers for their lanes.
template <class T>
inline constexpr int columns_a_thread = sizeof(T) == 8 ? 2 : 4;

/// The thread's columns in the row of the matrix at p, which points to its first one: neighbours, or, where they cannot be loaded at once, a
/// warp apart and as far as they are there.
template <class T, int C>
__device__ __forceinline__ Pack<T, C> load_columns(const T* p, std::uint64_t left, bool vectors) {
    Pack<T, C> pack;
    if (vectors) {
        if constexpr (sizeof pack == 16) {
            const uint4 raw = load16<Source::aligned_input>(p);
            __builtin_memcpy(&pack, &raw, sizeof pack);
        } else {
            const uint2 raw = __ldg(reinterpret_cast<const uint2*>(p));
            __builtin_memcpy(&pack, &raw, sizeof pack);
        }
    } else {
#pragma unroll
        for (int k = 0; k < C; ++k)
            pack.v[k] = static_cast<std::uint64_t>(k * warp_size) < left ? load_number(p + k * warp_size) : T{};
    }
    return pack;
}
template <class T, int C>
__device__ __forceinline__ Pack<T, C> load_columns(const OneInput<T>& p, std::uint64_t left, bool vectors) {
    return load_columns<T, C>(p.x, left, vectors);
}
template <class T, int C>
__device__ __forceinline__ Pack<Both<T>, C> load_columns(const TwoInputs<T>& p, std::uint64_t left, bool vectors) {
    const auto x = load_columns<T, C>(p.x, left, vectors), y = load_columns<T, C>(p.y, left, vectors);
    Pack<Both<T>, C> both;
#pragma unroll
    for (int k = 0; k < C; ++k)
        both.v[k] = {x.v[k], y.v[k]};
    return both;
}

/// The m ≤ chunk items of a chunk of the thread's columns; p points to the first.
template <class Level, class T, int C>
__device__ __forceinline__ Lanes<typename Level::Acc, C>
fold_columns(const typename Level::Pointer& p, int m, const ColumnRange& range, std::uint64_t left, bool vectors) {
    constexpr int lanes = Level::Order::lanes, rows = spec::rows_per_chunk, depth = spec::ceil_log2(lanes);
    using Part = Lanes<typename Level::Acc, C>;
    Part pending[depth], part;
    int bits = 0; // lanes from 2^bits on are absent, all of them
    while ((1 << bits) < m && bits < depth)
        ++bits;
    const auto row_step = static_cast<std::int64_t>(lanes * range.stride);
#pragma unroll 1
    for (int i = 0; i < 1 << bits; ++i) {
        const int j = bits == 0 ? 0 : static_cast<int>(__brev(static_cast<unsigned>(i)) >> (32 - bits));
        const auto at = p + static_cast<std::int64_t>(j * range.stride);
        Pack<typename Level::Item, C> packs[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (r * lanes + j < m) {
                packs[r] = load_columns<T, C>(at + r * row_step, left, vectors);
            } else {
#pragma unroll
                for (int k = 0; k < C; ++k)
                    packs[r].v[k] = Level::absent();
            }
        }
        part = fold_rows<Level, C>(packs);
        bool waits = i + 1 == 1 << bits; // the last one takes all that wait
#pragma unroll
        for (int d = 0; d < depth; ++d) {
            if (waits && i + 1 < 1 << bits) continue;
            if (i >> d & 1) {
                pending[d].merge(part);
                part = pending[d];
            } else if (!waits) {
                pending[d] = part;
                waits = true;
            }
        }
    }
    return part;
}

/// Tiles of all columns, one behind the other: first all columns of the first tile, 32·C to a team.
template <class Level, class T, class Levels>
__global__ void __launch_bounds__(max_block, 2)
    columns_kernel(const typename Level::Pointer x, const ColumnRange range, const Levels levels) {
    using Acc = typename Level::Acc;
    constexpr int C = columns_a_thread<T>, team_columns = C * warp_size, chunks = spec::chunks_per_tile;
    constexpr std::uint32_t chunk = Level::Order::chunk;
    __shared__ Lanes<Acc, C> of_chunk[max_block];
    const std::uint32_t lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size, teams = chunks / range.warps,
                        part = warp % range.warps;
    const std::uint64_t across = (range.columns + team_columns - 1) / team_columns, all = across * levels.tiles[0];
    for (std::uint64_t turn = blockIdx.x; turn * teams < all; turn += gridDim.x) {
        const std::uint64_t task = turn * teams + warp / range.warps, tile = task / across;
        const std::uint64_t base = (task - tile * across) * team_columns,
                            row = tile * Level::Order::tile + part * chunk;
        const bool vectors = range.vectors && base + team_columns <= range.columns;
        const std::uint64_t first = base + (vectors ? lane * C : lane);
        const bool there = task < all && first < range.columns;
        auto lanes = Lanes<Acc, C>::absent();
        if (there && row < range.n) {
            const std::uint64_t rest = range.n - row;
            const int m = rest < chunk ? static_cast<int>(rest) : static_cast<int>(chunk);
            lanes = fold_columns<Level, T, C>(x + static_cast<std::int64_t>(row * range.stride + first), m, range,
                                              range.columns - first, vectors);
        }
        of_chunk[threadIdx.x] = lanes;
        __syncthreads();
        if (part == 0 && there) {
            for (std::uint32_t step = 1; step < range.warps; step *= 2) {
                for (std::uint32_t w = 0; w < range.warps; w += 2 * step)
                    of_chunk[threadIdx.x + w * warp_size].merge(of_chunk[threadIdx.x + (w + step) * warp_size]);
            }
#pragma unroll
            for (int k = 0; k < C; ++k) {
                const std::uint64_t column = first + (vectors ? k : k * warp_size);
                if (column < range.columns) levels.store(0, tile, of_chunk[threadIdx.x].a[k], column);
            }
        }
        __syncthreads(); // of_chunk is used again
    }
}

template <class Level, class T, class Acc>
[[nodiscard]] Status run_columns(const FlatLaunch<T, Acc>& flat, const typename Level::Pointer& input) {
    constexpr int C = columns_a_thread<T>;
    const auto& levels = flat.levels;
    ColumnRange range{levels.rows, flat.n(), levels.stride, false, 1};
    const auto on_vectors = [](const T* p) { return reinterpret_cast<std::uintptr_t>(p) % (C * sizeof(T)) == 0; };
    range.vectors = on_vectors(input.x) && range.stride % C == 0;
    if constexpr (std::is_same_v<typename Level::Pointer, TwoInputs<T>>) range.vectors &= on_vectors(input.y);
    while (range.warps < spec::chunks_per_tile && range.warps * Level::Order::chunk < range.n)
        range.warps *= 2;
    const auto kernel = columns_kernel<Level, T, Levels<Acc>>;
    std::uint32_t resident = 0;
    if (const Status bad = flat.count_resident(kernel, 0, resident); !bad.ok()) return bad;
    const std::uint64_t tasks = spec::tiles(range.columns, C * warp_size) * levels.tiles[0],
                        turns = spec::tiles(tasks, spec::chunks_per_tile / range.warps);
    const auto blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(turns, 1, 16ull * resident));
    const Status status = flat.launch(LaunchKind::plain, kernel, flat.grid(blocks), 0, input, range, levels);
    return status.ok() ? flat.template upper_levels<max_block / warp_size>() : status;
}

} // namespace detreduce::cuda
