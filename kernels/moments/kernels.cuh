// The kernels of mean and variance by `tree`: a launch a level, as the schedule two_pass has it.
#pragma once

#include "dependent_launch.cuh"
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

template <class Items>
__global__ void __launch_bounds__(block_threads, 3)
    level_kernel(const typename Items::Pointer x, const __grid_constant__ Level<typename Items::V> level) {
    using TileOf = Tile<Items>;
    constexpr std::uint32_t tile_items = Items::Order::tile;
    __shared__ typename TileOf::Buffer buffer;
    if (level.tiles > 1) let_next_kernel_start(); // after the root comes somebody else's kernel
    if constexpr (Items::source == Source::partials) wait_for_previous_kernel();
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
