// count_unique of 16 bits: each block marks the patterns that it sees in a map of its own, 8 KiB of
// shared memory, and then those of all. Patterns that are one value are put together at the end.
#include "multiset/count/count.cuh"
#include "multiset/count/launch.hpp"

namespace detreduce::cuda {
namespace count {

inline constexpr std::uint32_t map_words = pattern_map_bytes / sizeof(std::uint32_t);

/// Looks first: most patterns were seen before, and reading takes no turns.
__device__ __forceinline__ void mark(volatile std::uint32_t* map, std::uint32_t code) {
    const std::uint32_t bit = 1u << code % 32;
    if ((map[code / 32] & bit) == 0) atomicOr(const_cast<std::uint32_t*>(map) + code / 32, bit);
}

template <class T>
__global__ void __launch_bounds__(max_threads, policy::mark_patterns.blocks)
    mark_kernel(const __grid_constant__ multiset::Tiles<T> tiles, std::uint32_t* map) {
    __shared__ std::uint32_t seen[map_words];
    for (std::uint32_t w = threadIdx.x; w < map_words; w += blockDim.x)
        seen[w] = 0;
    __syncthreads();
    const multiset::TileShare<T> share(tiles);
    share.for_units([&](std::uint32_t, const auto& vectors) {
#pragma unroll
        for (const uint4& v : vectors.v) {
            const std::uint32_t words[] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (const std::uint32_t w : words) {
                mark(seen, w & 0xffff);
                mark(seen, w >> 16);
            }
        }
    });
    share.for_odd([&](std::uint64_t, T x) { mark(seen, x.bits); });
    __syncthreads();
    for (std::uint32_t w = threadIdx.x; w < map_words; w += blockDim.x) {
        if (seen[w] != 0) atomicOr(map + w, seen[w]);
    }
}

/// One block: how many patterns were marked, where both zeros count as one, and so do all NaN.
/// Zeros, and infinities, behind which NaN begin, have the first bits of words.
template <class T>
__global__ void __launch_bounds__(max_threads) count_patterns_kernel(const std::uint32_t* map, Count* total) {
    constexpr std::uint32_t of_infinity = fp::infinity_bits<T> / 32, of_sign = map_words / 2;
    Count mine = 0;
    bool zero = false, nan = false;
    for (std::uint32_t w = threadIdx.x; w < map_words; w += blockDim.x) {
        const std::uint32_t marked = map[w], magnitude = w % of_sign;
        const std::uint32_t nans = magnitude > of_infinity ? ~0u : magnitude == of_infinity ? ~1u : 0u;
        const std::uint32_t zeros = magnitude == 0 ? 1u : 0u;
        mine += __popc(marked & ~nans & ~zeros);
        nan = nan || (marked & nans) != 0;
        zero = zero || (marked & zeros) != 0;
    }
    const bool any_zero = __syncthreads_or(zero) != 0, any_nan = __syncthreads_or(nan) != 0;
    if (threadIdx.x == 0) mine += (any_zero ? 1 : 0) + (any_nan ? 1 : 0);
    add_up(mine, total);
}

} // namespace count

template <class T>
static Status count_patterns(const Run& run) {
    auto* const map = static_cast<std::uint32_t*>(run.workspace);
    const multiset::Tiles<T> tiles(static_cast<const T*>(run.in.x), run.request().n);
    const Launch& launch = run.plan.launch();
    std::uint32_t blocks = 0;
    const Status chosen =
        multiset::choose_blocks(run, count::mark_kernel<T>, multiset::useful_blocks(run.request(), launch), blocks);
    if (!chosen.ok()) return chosen;
    const Status zeroed = clear(map, pattern_map_bytes, run.stream);
    if (!zeroed.ok()) return zeroed;
    const Status marked =
        launch_kernel(LaunchKind::plain, count::mark_kernel<T>, blocks, launch.block, 0, run.stream, tiles, map);
    if (!marked.ok()) return marked;
    return launch_kernel(LaunchKind::plain, count::count_patterns_kernel<T>, 1, count::max_threads, 0, run.stream,
                         static_cast<const std::uint32_t*>(map), static_cast<count::Count*>(run.out));
}

template <>
Status launch_count_unique<float16>(const Run& run) {
    return count_patterns<float16>(run);
}
template <>
Status launch_count_unique<bfloat16>(const Run& run) {
    return count_patterns<bfloat16>(run);
}

} // namespace detreduce::cuda
