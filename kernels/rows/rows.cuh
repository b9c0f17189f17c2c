// Rows that are short: at most one chunk of `tree`, so that a warp, or a part of one, reduces a row by itself, without barriers. Longer rows
// are the flat shape's kernels over all tiles of all rows. The order is that of SPEC.md, section 3: what is absent takes no part.
#pragma once

#include <cstdint>

#include "flat/kernels.cuh"

namespace detreduce::cuda {

/// The rows of the input, and where their results go.
struct RowRange {
    std::uint64_t rows, n, stride; ///< stride: elements from the beginning of one row to that of the next
    std::uint32_t
        threads; ///< that share a row: a power of two, at most a warp; n fits the lanes that they have, or they are a warp
};

/// The lanes that a thread has of a row of at most one row of lanes: the K items from `first` on, as far as they are there.
template <class Level>
__device__ __forceinline__ Lanes<typename Level::Acc, TileReader<Level>::K>
load_lanes(const typename Level::Pointer& row, std::uint64_t n, int first) {
    using Item = typename Level::Item;
    constexpr int K = TileReader<Level>::K;
    Lanes<typename Level::Acc, K> lanes;
    const std::int64_t left = static_cast<std::int64_t>(n) - first;
    if (left >= K) {
        const Pack<Item, K> pack = load_pack<Level::source, Item, K>(row + first);
#pragma unroll
        for (int k = 0; k < K; ++k)
            lanes.a[k] = Level::as_accumulator(pack.v[k]);
    } else {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            lanes.a[k] = Level::Acc::absent();
            if (k < left) lanes.a[k] = Level::as_accumulator(load_item<Level::source>(row + first + k));
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

template <class Level, class Levels>
__global__ void __launch_bounds__(max_block)
    rows_kernel(const typename Level::Pointer x, const RowRange range, const Levels levels) {
    using Reader = TileReader<Level>;
    constexpr int K = Reader::K;
    const std::uint32_t at_once = warp_size / range.threads, lane = threadIdx.x % warp_size;
    const int first = static_cast<int>(lane % range.threads) * K;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size),
                        warp = std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size;
    const bool one_row_of_lanes = range.n <= Level::Order::lanes;
    for (std::uint64_t group = warp; group * at_once < range.rows; group += warps) {
        const std::uint64_t row = group * at_once + lane / range.threads;
        const bool there = row < range.rows;
        const auto begin = x + static_cast<std::int64_t>((there ? row : 0) * range.stride);
        auto lanes = one_row_of_lanes ? load_lanes<Level>(begin, there ? range.n : 0, first)
                                      : Reader::fold_some(begin + first, there ? static_cast<int>(range.n) : 0, first);
        const auto acc = combine_neighbouring_lanes(lanes, range.threads);
        if (there && lane % range.threads == 0) levels.finish(row, acc);
    }
}

} // namespace detreduce::cuda
