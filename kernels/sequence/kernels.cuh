// The kernels of the flat shape. Every schedule is the same two steps: reduce tiles, then climb the
// levels.
#pragma once

#include <cstdint>

#include <detreduce/acc/finish.hpp>
#include <detreduce/acc/moments.hpp>
#include <detreduce/acc/product.hpp>
#include <detreduce/plan.hpp>

#include "platform/grid.cuh"
#include "sequence/tile.cuh"
#include "groups/groups.hpp"
#include "policies.hpp"
#include "rounded.cuh"

namespace detreduce::cuda {

/// The root's finalize. Not inlined: it is much code for one thread, once a launch.
static __device__ __noinline__ void finish_root(void* out, DType output, fp::Eft<double> total, Finalize finalize,
                                                std::uint64_t n) {
    const acc::Finished result = acc::finished(total, finalize, n);
    acc::store_as(out, output, [&](auto t) { return rounded_to<decltype(t)>(result); });
}

/// A plain sum as an element of `output`, of 16 bits or more, which acc::finish_into() would give,
/// too, in a thousand cycles: short groups have many of them.
template <class V>
__device__ __forceinline__ void store_sum(void* out, std::uint64_t i, DType output, V sum) {
    if constexpr (fp::is_f32<V>) {
        if (output == DType::f16) {
            static_cast<float16*>(out)[i] = rounded_to<float16>(sum);
        } else if (output == DType::bf16) {
            static_cast<bfloat16*>(out)[i] = rounded_to<bfloat16>(sum);
        } else if (output == DType::f32) {
            static_cast<float*>(out)[i] = rounded_to<float>(sum);
        } else {
            static_cast<double*>(out)[i] = rounded_to<double>(sum);
        }
    } else {
        static_cast<V*>(out)[i] = fp::canonical(sum);
    }
}

template <class Acc>
__device__ __noinline__ void finish_product(void* out, DType output, const Acc& product) {
    acc::finish_into(out, output, product);
}

template <class V>
__device__ __noinline__ void finish_moments(acc::MomentsResult result, acc::Moments<V> m) {
    const acc::Finished mean = {m.mean, m.mean}, variance = result.variance(m);
    result.store([&](auto t) { return rounded_to<decltype(t)>(mean); },
                 [&](auto t) { return rounded_to<decltype(t)>(variance); });
}

/// Where the results go that a caller sees.
struct Results {
    void* out;
    DType output;
    std::uint32_t result_bytes;
    Finalize finalize;
    Op op = Op::sum;
    std::uint64_t ddof = 0;

    [[nodiscard]] __device__ __forceinline__ acc::MomentsResult moments(std::uint64_t n) const {
        return {out, output, result_bytes, op, n, ddof};
    }
    /// The i-th, of n elements. Plain sums, which short groups have many of, take no call.
    template <class Acc>
    __device__ __forceinline__ void finish(std::uint64_t i, const Acc& acc, std::uint64_t n) const {
        using V = typename Acc::Value;
        if constexpr (acc::is_product<Acc>) {
            finish_product(static_cast<char*>(out) + i * result_bytes, output, acc);
        } else if constexpr (std::is_same_v<Acc, acc::Moments<V>>) {
            finish_moments(moments(n).moved(i), acc);
        } else if (!Acc::keeps_errors && finalize == Finalize::sum &&
                   (fp::is_f32<V> ? output <= DType::f64 : output == dtype_of<V>)) {
            store_sum(out, i, output, acc.sum);
        } else {
            finish_root(static_cast<char*>(out) + i * result_bytes, output, acc.total(), finalize, n);
        }
    }
};

/// Where results of tiles go: level l holds those of the tiles of level l − 1 (l = 0: of the
/// input).
template <class Acc>
struct Levels {
    std::uint64_t tiles[max_levels]; ///< results in level l; 1 means that this is the root
    Acc* partials[max_levels];       ///< tiles[l] results
    std::uint32_t* done[max_levels]; ///< last_block: done[l][g] results of group g (one tile of level l + 1) are there
    Results results;
    std::uint64_t n;                 ///< elements of the input, or of a group of it
    std::uint64_t rows, stride;      ///< groups; from one to the next of what is read
    std::uint64_t pitch[max_levels]; ///< from one row of results to the next
    std::uint64_t unit;              ///< elements of an item, but of the last one of all

    /// The levels from `level` on, so that a kernel that works on one level finds it at index 0, a
    /// compile-time constant.
    [[nodiscard]] Levels from(int level) const {
        Levels shifted = *this;
        for (int l = 0; l < max_levels; ++l) {
            const int source = l + level < max_levels ? l + level : max_levels - 1;
            shifted.tiles[l] = tiles[source];
            shifted.partials[l] = partials[source];
            shifted.done[l] = done[source];
            shifted.pitch[l] = pitch[source];
        }
        shifted.stride = pitch[level - 1];
        return shifted;
    }

    __device__ __forceinline__ void store(int level, std::uint64_t i, const Acc& acc, std::uint64_t row = 0) const {
        if (tiles[level] == 1) {
            results.finish(row, acc, n);
        } else {
            partials[level][row * pitch[level] + i] = acc;
        }
    }
};

/// Items of the tile that begins at item `begin` of n.
__device__ __forceinline__ std::uint32_t items_in_tile(std::uint64_t begin, std::uint64_t n, std::uint32_t tile) {
    if (begin >= n) return 0;
    return n - begin < tile ? static_cast<std::uint32_t>(n - begin) : tile;
}

inline constexpr int max_block = policy::tree.threads; ///< prepare() allows no more

/// Levels whose items do not know how many elements they are: their tile has to be told.
template <class Level>
concept NeedsCounts = requires {
    typename Level::Counts;
};

template <class Level, int TeamWarps>
struct BufferFor {
    using type = TeamBuffer<typename Level::Acc, Level::Order::lanes / warp_size, TeamWarps>;
};
template <NeedsCounts Level, int TeamWarps>
struct BufferFor<Level, TeamWarps> {
    using type = typename Level::Buffer;
};
/// What a team needs of shared memory.
template <class Level, int TeamWarps>
using BufferOf = typename BufferFor<Level, TeamWarps>::type;

/// m of the n items of a group of so many elements, `unit` an item but for the last one of all: the
/// last of them, or some before.
template <NeedsCounts Level>
__device__ __forceinline__ typename Level::Counts counts_of(std::uint32_t m, bool last, std::uint64_t n,
                                                            std::uint64_t unit, std::uint64_t elements) {
    typename Level::Counts counts{m, unit};
    if (last) counts.missing = n * unit - elements;
    return counts;
}

template <class Buffer>
__device__ __forceinline__ Buffer* team_buffer() {
    return reinterpret_cast<Buffer*>(shared_of_launch());
}

/// The m items at p by a block, of n as counts_of() says.
template <class Level, int TeamWarps, class Buffer>
__device__ __forceinline__ typename Level::Acc reduce_items(const typename Level::Pointer& p, std::uint32_t m,
                                                            bool last, std::uint64_t n, std::uint64_t unit,
                                                            std::uint64_t elements, Buffer& buffer) {
    if constexpr (NeedsCounts<Level>) {
        return Level::reduce(p, counts_of<Level>(m, last, n, unit, elements), buffer);
    } else {
        return reduce_tile_by_team<Level, TeamWarps>(p, m, buffer);
    }
}

/// Tile `tile` of the n items of an array at x, by a block; its result goes to `level`.
template <class Level, int TeamWarps, class Levels, class Buffer>
__device__ __forceinline__ void reduce_tile_of_array(const typename Level::Pointer& x, std::uint64_t n,
                                                     std::uint64_t tile, const Levels& levels, int level,
                                                     Buffer& buffer) {
    constexpr std::uint32_t tile_items = Level::Order::tile;
    const auto acc = reduce_tile_by_team<Level, TeamWarps>(x + tile * tile_items,
                                                           items_in_tile(tile * tile_items, n, tile_items), buffer);
    if (threadIdx.x == 0) levels.store(level, tile, acc);
}

/// Blocks on a multiprocessor that level_kernel is compiled for.
template <class Level>
inline constexpr int blocks_at_once = (sizeof(typename Level::Acc) > sizeof(typename Level::Acc::Value)
                                           ? policy::tree_of_two_words
                                           : policy::tree)
                                          .blocks;
template <class T, class Acc, class Map, Alignment A>
inline constexpr int blocks_at_once<TermLevel<T, Acc, Map, A>> =
    Map::inputs == 2 ? policy::tree_of_two_inputs.blocks : blocks_at_once<InputLevel<T, Acc, true>>;

/// Lane j of n items, in Rows rows of lanes or fewer.
template <class Level, int Rows>
__device__ __forceinline__ typename Level::Acc fold_short_lane(const typename Level::Pointer& x, std::uint32_t n,
                                                               std::uint32_t j) {
    using Acc = typename Level::Acc;
    constexpr std::uint32_t lanes = Level::Order::lanes;
    Acc row[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        row[r] = Acc::identity(); // changes nothing
        if (r * lanes + j < n) row[r] = load_item<Level::source>(x + (r * lanes + j));
    }
    if constexpr (Acc::pairwise_rows) {
        return merge_neighbours(row);
    } else {
#pragma unroll
        for (int r = 1; r < Rows; ++r)
            row[0].merge(row[r]);
        return row[0];
    }
}

/// The root of rows of at most as many results as Rows rows of lanes hold: a warp each, without
/// shared memory.
template <class Level, int Rows, class Levels>
__device__ __forceinline__ void reduce_short_rows(const typename Level::Pointer& x, std::uint32_t n,
                                                  const Levels& levels) {
    using Acc = typename Level::Acc;
    constexpr int K = Level::Order::lanes / warp_size;
    __shared__ double nowhere[2];
    const std::uint32_t thread = threadIdx.x % warp_size, warp = threadIdx.x / warp_size,
                        warps = blockDim.x / warp_size;
#pragma unroll 1
    for (int pass = first_pass(); pass < 2; ++pass) { // see there
        const bool real = pass == 1;
        if (real) wait_for_previous_kernel();
        Results results = levels.results;
        if (!real) results.out = nowhere;
        const std::uint64_t rows = real ? levels.rows : 1;
#pragma unroll 1
        for (std::uint64_t row = (real ? std::uint64_t{blockIdx.x} * warps : 0) + warp; row < rows;
             row += std::uint64_t{gridDim.x} * warps) {
            const auto p = x + row * levels.stride;
            Acc acc;
            if constexpr (NeedsCounts<Level>) {
                acc = Level::template reduce_short<Rows>(p, counts_of<Level>(n, true, n, levels.unit, levels.n),
                                                         *team_buffer<typename Level::Buffer>(), real);
            } else {
                Acc lanes[K];
#pragma unroll
                for (int k = 0; k < K; ++k)
                    lanes[k] = fold_short_lane<Level, Rows>(p, real ? n : 0, k * warp_size + thread);
                acc = combine_lanes(lanes);
            }
            if (thread == 0) results.finish(real ? row : 0, acc, levels.n);
        }
    }
}

/// One level, whose results are levels.partials[0]: the tiles of an array; of rows, blockIdx.y
/// saying which, or, of one tile each, blockIdx.x, as dividing would take as long as half a tile;
/// or, where there is a table, of its work items.
template <class Level, int TeamWarps, class Levels>
__global__ void __launch_bounds__(max_block, blocks_at_once<Level>)
    level_kernel(const typename Level::Pointer x, std::uint64_t n, const Levels levels, const WorkTable table) {
    auto& buffer = *team_buffer<BufferOf<Level, TeamWarps>>();
    if (levels.tiles[0] > 1) let_next_kernel_start(); // after the root comes somebody else's kernel
    if constexpr (Level::source == Source::partials) {
        constexpr std::uint32_t lanes = Level::Order::lanes;
        if (n <= lanes) return reduce_short_rows<Level, 1>(x, static_cast<std::uint32_t>(n), levels);
        if (n <= policy::most_short_rows * lanes)
            return reduce_short_rows<Level, policy::most_short_rows>(x, static_cast<std::uint32_t>(n), levels);
        wait_for_previous_kernel();
    }
    if constexpr (Level::in_rows) {
        constexpr std::uint32_t tile_items = Level::Order::tile;
        const bool of_work_items = table.items != nullptr,
                   one = levels.tiles[0] == 1; // a tile a row: as many blocks as there may be
        // One loop, and bounds said where they are needed: with a loop in another, dot of f64
        // spills, and is .85 instead of .99.
        const auto rows = [&] { return of_work_items ? std::uint64_t{1} : levels.rows; };
        const auto tiles = [&] { return of_work_items ? table.in_use() : levels.tiles[0]; };
        const std::uint64_t first = one ? 0 : blockIdx.x;
        std::uint64_t row = one ? blockIdx.x : blockIdx.y, tile = first;
        while (row < rows()) {
            if (tile >= tiles()) {
                row += one ? gridDim.x : gridDim.y;
                tile = first;
                continue;
            }
            std::uint64_t begin = row * levels.stride + tile * tile_items;
            std::uint32_t m = items_in_tile(tile * tile_items, n, tile_items);
            if (of_work_items) {
                const WorkItem work_item = table.items[tile];
                begin = work_item.begin;
                m = work_item.m;
            }
            const auto p = x + static_cast<std::int64_t>(begin);
            const auto acc =
                reduce_items<Level, TeamWarps>(p, m, tile + 1 == tiles(), n, levels.unit, levels.n, buffer);
            if (threadIdx.x == 0 && m > 0) levels.store(0, tile, acc, row);
            __syncthreads(); // the buffer is used again
            tile += gridDim.x;
        }
    } else {
        for (std::uint64_t tile = blockIdx.x; tile < levels.tiles[0]; tile += gridDim.x) {
            reduce_tile_of_array<Level, TeamWarps>(x, n, tile, levels, 0, buffer);
            __syncthreads();
        }
    }
}

/// Counts `count` results of a group of level `level`; true for the block that finds the group
/// complete with them.
template <class Order, class Levels>
__device__ __forceinline__ bool completes_group(const Levels& levels, int level, std::uint64_t group,
                                                std::uint32_t count) {
    __shared__ bool complete;
    const std::uint32_t size = items_in_tile(group * Order::tile, levels.tiles[level], Order::tile);
    __syncthreads(); // the block's results are stored
    if (threadIdx.x == 0) complete = count_arrival(&levels.done[level][group], count) + count == size;
    __syncthreads();
    return complete;
}

/// last_block: the block that completes a group of results reduces it, and so on up to the root.
template <class Partial, int TeamWarps, class Levels>
__device__ __forceinline__ void climb(const Levels& levels, std::uint64_t group) {
    auto& buffer = *team_buffer<BufferOf<Partial, TeamWarps>>();
    for (int level = 0;; ++level) {
        reduce_tile_of_array<Partial, TeamWarps>(levels.partials[level], levels.tiles[level], group, levels, level + 1,
                                                 buffer);
        if (levels.tiles[level + 1] == 1) return;
        group /= Partial::Order::tile;
        if (!completes_group<typename Partial::Order>(levels, level + 1, group, 1)) return;
    }
}

/// A block reports its results when it leaves a group, not after every tile: reporting takes as
/// long as a tile.
template <class Level, class Partial, int TeamWarps, class Levels>
__global__ void __launch_bounds__(max_block, 1)
    last_block_kernel(const typename Level::Item* x, std::uint64_t n, const __grid_constant__ Levels levels) {
    auto& buffer = *team_buffer<BufferOf<Level, TeamWarps>>();
    std::uint64_t group = 0;
    std::uint32_t unreported = 0; // results of this group
    for (std::uint64_t tile = blockIdx.x; unreported > 0 || tile < levels.tiles[0]; tile += gridDim.x) {
        const bool ends = tile >= levels.tiles[0];
        if (unreported > 0 && (ends || tile / Partial::Order::tile != group)) {
            if (levels.tiles[0] > 1 && completes_group<typename Partial::Order>(levels, 0, group, unreported))
                climb<Partial, TeamWarps>(levels, group);
            if (ends) return;
            unreported = 0;
            __syncthreads(); // the buffer is used again
        }
        reduce_tile_of_array<Level, TeamWarps>(x, n, tile, levels, 0, buffer);
        group = tile / Partial::Order::tile;
        ++unreported;
        __syncthreads();
    }
}

/// cooperative: grid-wide barriers between levels.
template <class Level, class Partial, int TeamWarps, class Levels>
__global__ void __launch_bounds__(max_block)
    cooperative_kernel(const typename Level::Item* x, std::uint64_t n, const __grid_constant__ Levels levels) {
    for (std::uint64_t tile = blockIdx.x; tile < levels.tiles[0]; tile += gridDim.x) {
        reduce_tile_of_array<Level, TeamWarps>(x, n, tile, levels, 0, *team_buffer<BufferOf<Level, TeamWarps>>());
        __syncthreads(); // the buffer is used again
    }
#pragma unroll 1
    for (int level = 0; level + 1 < max_levels && levels.tiles[level] > 1; ++level) {
        sync_grid();
        for (std::uint64_t tile = blockIdx.x; tile < levels.tiles[level + 1]; tile += gridDim.x) {
            reduce_tile_of_array<Partial, TeamWarps>(levels.partials[level], levels.tiles[level], tile, levels,
                                                     level + 1, *team_buffer<BufferOf<Partial, TeamWarps>>());
            __syncthreads();
        }
    }
}

/// atomic: what most programs do. Each block adds up tiles as they come; the blocks' sums meet in a
/// floating-point atomic.
template <class Level>
__global__ void __launch_bounds__(max_block)
    atomic_kernel(const typename Level::Item* x, std::uint64_t n, typename Level::Acc::Value* sum) {
    using Reader = TileReader<Level>;
    using Acc = typename Level::Acc;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    const std::uint64_t first = blockIdx.x * std::uint64_t{blockDim.x / warp_size} + threadIdx.x / warp_size;
    auto lanes = Lanes<Acc, Reader::K>::identity();
    for (std::uint64_t chunk = first; chunk * Level::Order::chunk < n; chunk += stride) {
        const std::uint64_t begin = chunk * Level::Order::chunk;
        const int first_lane = threadIdx.x % warp_size * Reader::K;
        if (n - begin >= Level::Order::chunk) {
            lanes.merge(Reader::fold_all(x + begin + first_lane));
        } else {
            lanes.merge(Reader::fold_some(x + begin + first_lane, static_cast<int>(n - begin), first_lane));
        }
    }
    __shared__ typename Acc::Value block_sum;
    if (threadIdx.x == 0) block_sum = 0;
    __syncthreads();
    const Acc acc = combine_lanes(lanes.a); // in whatever order
    if (threadIdx.x % warp_size == 0) atomicAdd(&block_sum, acc.sum);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(sum, block_sum);
}

} // namespace detreduce::cuda
