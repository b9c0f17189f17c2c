// The kernels of mean and variance by `tree`: a launch a level, as the schedule two_pass has it.
#pragma once

#include "platform/grid.cuh"
#include "moments/tile.cuh"

namespace detreduce::cuda::moment_kernels {

/// One level: `tiles` tiles a row, of items of `unit` elements, but for the last one, which has what is left of the row's n.
template <class V>
struct Level {
    std::uint64_t rows, items, unit, n;
    std::uint64_t stride; ///< items from the beginning of one row to that of the next
    std::uint64_t tiles, pitch;
    acc::Moments<V>*
        partials; ///< results of tiles, `pitch` from one row to the next; where there is one tile a row, it goes to
    acc::MomentsResult result;
};

/// Not inlined: it is much code for one thread, once a row.
template <class V>
static __device__ __noinline__ void finish(const acc::MomentsResult& result, std::uint64_t row,
                                           const acc::Moments<V>& m) {
    result.moved(row).store(m);
}

/// The root of rows of at most as many results as Rows rows of lanes hold: a warp each.
template <class Items, int Rows>
__device__ __forceinline__ void reduce_short_rows(const typename Items::Pointer& x,
                                                  const Level<typename Items::V>& level,
                                                  typename Tile<Items>::Buffer& buffer) {
    using TileOf = Tile<Items>;
    __shared__ double nowhere[2];
    const std::uint32_t warp = threadIdx.x / warp_size;
#pragma unroll 1
    for (int pass = first_pass(); pass < 2; ++pass) { // see there
        const bool real = pass == 1;
        if (real) wait_for_previous_kernel();
        acc::MomentsResult result = level.result;
        if (!real) result.out = nowhere;
        const std::uint64_t rows = real ? level.rows : 1;
#pragma unroll 1
        for (std::uint64_t row = (real ? std::uint64_t{blockIdx.x} * block_warps : 0) + warp; row < rows;
             row += std::uint64_t{gridDim.x} * block_warps) {
            typename TileOf::Counts counts{static_cast<std::uint32_t>(level.items), level.unit};
            counts.missing = level.items * level.unit - level.n;
            const TileOf tile{x + static_cast<std::int64_t>(row * level.stride), counts, buffer};
            const auto acc = tile.regular_short() ? tile.template reduce_short<true, Rows>(real)
                                                  : tile.template reduce_short<false, Rows>(real);
            if (threadIdx.x % warp_size == 0) finish(result, real ? row : 0, acc);
        }
    }
}

template <class Items>
__global__ void __launch_bounds__(block_threads, 3)
    level_kernel(const typename Items::Pointer x, const __grid_constant__ Level<typename Items::V> level) {
    using TileOf = Tile<Items>;
    constexpr std::uint32_t tile_items = Items::Order::tile;
    __shared__ typename TileOf::Buffer buffer;
    if (level.tiles > 1) let_next_kernel_start(); // after the root comes somebody else's kernel
    if constexpr (Items::source == Source::partials) {
        constexpr std::uint32_t lanes = Items::Order::lanes;
        if (level.items <= lanes) return reduce_short_rows<Items, 1>(x, level, buffer);
        if (level.items <= most_short_rows * lanes) return reduce_short_rows<Items, most_short_rows>(x, level, buffer);
        wait_for_previous_kernel();
    }
    for (std::uint64_t turn = blockIdx.x; turn < level.rows * level.tiles; turn += gridDim.x) {
        const std::uint64_t row = level.rows == 1 ? 0 : turn / level.tiles, tile = turn - row * level.tiles;
        const std::uint64_t first = tile * tile_items, left = level.items - first;
        typename TileOf::Counts counts{left < tile_items ? static_cast<std::uint32_t>(left) : tile_items, level.unit};
        if (tile + 1 == level.tiles) counts.missing = level.items * level.unit - level.n;
        const auto acc = TileOf{x + static_cast<std::int64_t>(row * level.stride + first), counts, buffer}.reduce();
        if (threadIdx.x == 0) {
            if (level.tiles == 1) {
                finish(level.result, row, acc);
            } else {
                level.partials[row * level.pitch + tile] = acc;
            }
        }
        __syncthreads(); // the buffer is used again
    }
}

} // namespace detreduce::cuda::moment_kernels
