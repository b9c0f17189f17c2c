// minmax: the scan of order.cuh with two keys an element, the largest of which are the least and the greatest.
#pragma once

#include "order/order.cuh"

namespace detreduce::cuda::order {

/// What a block found: keys of any dtype, widened. As many bytes as an OrderPartial.
struct BothEnds {
    std::int64_t least, greatest; ///< of either, the larger is the better
};
static_assert(sizeof(BothEnds) == sizeof(OrderPartial));

/// Both sets of keys.
template <class T>
struct BothKeys {
    using Least = Keys<T, spec::View::least>;
    using Greatest = Keys<T, spec::View::greatest>;
    using Wide = typename Least::Wide;
    Least least;
    Greatest greatest;

    __device__ __forceinline__ explicit BothKeys(NanPolicy nan) : least(nan), greatest(nan) {}

    /// The least element, and behind it the greatest.
    __device__ __forceinline__ void store(const Result& result, std::uint32_t result_bytes,
                                          const BothEnds& found) const {
        using Key = typename spec::KeyMap<T>::Key;
        store_element<T>(result, least.map.element(static_cast<Key>(found.least)));
        store_element<T>({static_cast<char*>(result.out) + result_bytes, result.output},
                         greatest.map.element(static_cast<Key>(found.greatest)));
    }
};

/// The larger keys of the block's, for all of its threads.
template <class Wide>
__device__ __forceinline__ BothEnds best_ends_of_block(Wide least, Wide greatest) {
    const Wide best_least = best_of_block<Greater>(least);
    __syncthreads(); // the same shared memory is used again
    return {best_least, best_of_block<Greater>(greatest)};
}

/// One block alone stores the results; others leave what they found to finish_minmax_kernel.
template <class T>
__global__ void __launch_bounds__(max_threads, 4)
    minmax_kernel(const __grid_constant__ Tiles<T> tiles, NanPolicy nan, BothEnds* partials, const Result result,
                  std::uint32_t result_bytes) {
    if (gridDim.x > 1) let_next_kernel_start();
    using Wide = typename BothKeys<T>::Wide;
    const BothKeys<T> keys(nan);
    const std::uint32_t warps = blockDim.x / warp_size, threads = gridDim.x * blockDim.x;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * warps;
    auto least = keys.least.nothing();
    auto greatest = keys.greatest.nothing();
    for (std::uint64_t tile = std::uint64_t{blockIdx.x} * warps + threadIdx.x / warp_size; tile < tiles.full;
         tile += stride) {
        const Vectors current = tiles.load(tile);
#pragma unroll
        for (int i = 0; i < tile_vectors; ++i) {
            keys.least.take(least, current.v[i]);
            keys.greatest.take(greatest, current.v[i]);
        }
    }
    Wide of_least = keys.least.settled(least), of_greatest = keys.greatest.settled(greatest);
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < tiles.odd; i += threads) {
        const T x = load_number(tiles.x + tiles.odd_index(i));
        of_least = max(of_least, keys.least.settled_key(x));
        of_greatest = max(of_greatest, keys.greatest.settled_key(x));
    }
    const BothEnds found = best_ends_of_block(of_least, of_greatest);
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1) {
        keys.store(result, result_bytes, found);
    } else {
        partials[blockIdx.x] = found;
    }
}

/// The best of what `count` blocks found.
template <class T>
__global__ void __launch_bounds__(max_threads)
    finish_minmax_kernel(const BothEnds* partials, std::uint32_t count, NanPolicy nan, const Result result,
                         std::uint32_t result_bytes) {
    wait_for_previous_kernel();
    const BothKeys<T> keys(nan);
    std::int64_t least = INT64_MIN, greatest = INT64_MIN;
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        const auto other = load_item<Source::partials>(partials + i);
        least = max(least, other.least);
        greatest = max(greatest, other.greatest);
    }
    const BothEnds found = best_ends_of_block(least, greatest);
    if (threadIdx.x == 0) keys.store(result, result_bytes, found);
}

} // namespace detreduce::cuda::order
