// The kernels of the multiset engine, a scope each: the grid looks at a flat array, blocks at work
// items of large groups or at shares of a list, warps at small groups, and threads at parts of
// columns and short rows. What several found is joined afterwards (join.cuh).
#pragma once

#include "platform/grid.cuh"
#include "groups/parts.hpp"
#include "groups/work_items.cuh"
#include "multiset/accumulators.cuh"
#include "multiset/results.cuh"
#include "multiset/scopes.cuh"
#include "tensors/list.hpp"

namespace detreduce::cuda::multiset {

/// A flat array. One block alone stores the result; others leave what they found to be joined.
template <class A>
__global__ void __launch_bounds__(max_threads, policy::blocks_that_fit(A::grid_blocks))
    grid_kernel(const __grid_constant__ Tiles<typename A::Type> tiles, const __grid_constant__ A accumulator,
                Found* found, const __grid_constant__ Results results) {
    if (gridDim.x > 1) let_next_kernel_start();
    const Found all = accumulator.look(BlockScope{}, TileShare<typename A::Type>(tiles));
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1) {
        store(results, accumulator, 0, all);
    } else {
        found[blockIdx.x] = all;
    }
}

/// Groups of elements in an array.
template <class T>
struct GroupElements {
    const T* x;
    std::uint64_t step; ///< from one element to the next
    bool pairs = false; ///< does a thread look at two neighbouring columns?
    template <class Scope>
    [[nodiscard]] __device__ __forceinline__ Part<T> part(const Scope& scope, std::uint64_t begin,
                                                          std::uint64_t n) const {
        return {scope, x + begin, step, static_cast<std::uint32_t>(n)};
    }
};

/// Small groups, a warp each; large ones go to `table`. A warp takes `batch` neighbours, at most
/// 32, whose results its threads store all at once.
template <class A>
__global__ void __launch_bounds__(max_threads)
    warps_kernel(const __grid_constant__ GroupElements<typename A::Type> elements,
                 const __grid_constant__ A accumulator, const __grid_constant__ Groups groups, std::uint32_t batch,
                 const __grid_constant__ WorkTable table, const __grid_constant__ Results results) {
    const WarpScope warp;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    for (std::uint64_t base = (std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size) * batch;
         base < groups.count; base += warps * batch) {
        Found mine{};
        bool have = false;
#pragma unroll 1
        for (std::uint32_t i = 0; i < batch && base + i < groups.count; ++i) {
            const Span span = span_of(groups, base + i);
            const bool large = span.n > table.length;
            if (large && list_work_items(table, base + i, span)) continue;
            Found found = accumulator.empty(span.valid && !large);
            if (span.n > 0 && !large) found = accumulator.look(warp, elements.part(warp, span.begin, span.n));
            if (warp.rank() == i) {
                mine = found;
                have = true;
            }
        }
        if (have) store(results, accumulator, base + warp.rank(), mine);
    }
}

/// Work items of large groups, a block each.
template <class A>
__global__ void __launch_bounds__(max_threads)
    items_kernel(const __grid_constant__ GroupElements<typename A::Type> elements,
                 const __grid_constant__ A accumulator, const __grid_constant__ WorkTable table, Found* found) {
    const BlockScope block;
    const std::uint64_t used = table.in_use();
    for (std::uint64_t i = blockIdx.x; i < used; i += gridDim.x) {
        const WorkItem item = table.items[i];
        if (item.m == 0) continue; // the same for the block
        const Found here = accumulator.look(block, elements.part(block, item.begin, item.m));
        if (threadIdx.x == 0) found[i] = here;
        block.meet(); // shared memory is used again
    }
}

/// More elements than this are looked at in turns: places in them are 32 bits.
inline constexpr std::uint64_t most_at_once = std::uint64_t{1} << 30;

/// Shares of the tensors of a list, a block each. Indices are those in the list.
template <class A>
__global__ void __launch_bounds__(max_threads)
    list_kernel(const __grid_constant__ A accumulator, const TensorEntry* tensors, const std::uint32_t* tensor_of_block,
                Found* found) {
    constexpr std::uint64_t multiple = 64; // elements, so that shares begin as the tensor is aligned
    const BlockScope block;
    const TensorEntry tensor = tensors[tensor_of_block[blockIdx.x]];
    const std::uint64_t share = spec::tiles(spec::tiles(tensor.n, tensor.blocks), multiple) * multiple,
                        begin = (blockIdx.x - tensor.first) * share,
                        end = begin < tensor.n ? min(begin + share, tensor.n) : begin;
    const GroupElements<typename A::Type> elements{static_cast<const typename A::Type*>(tensor.x), 1};
    Found all = A::identity();
    for (std::uint64_t at = begin; at < end; at += most_at_once) {
        Found here = accumulator.look(block, elements.part(block, at, min(most_at_once, end - at)));
        A::shift(here, tensor.second + at);
        A::merge(all, here);
        block.meet(); // shared memory is used again
    }
    if (threadIdx.x == 0) found[blockIdx.x] = all;
}

/// Parts of groups by a thread each (groups/parts.hpp), or of two neighbouring columns. What part p
/// of group g has is at found[p·count + g], with its index in the group; or, where there is one
/// part of each, it is the result.
template <class A>
struct LookAtParts {
    static constexpr int blocks = policy::blocks_that_fit(A::thread_blocks);
    GroupElements<typename A::Type> elements;
    A accumulator;
    std::uint64_t stride;
    Parts parts;
    Found* found;
    Results results;

    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        if constexpr (fp::has_16_bits<typename A::Type>) {
            if (elements.pairs) return look<2>(i);
        }
        look<1>(i);
    }

  private:
    template <int Columns>
    __device__ __forceinline__ void look(std::uint64_t i) const {
        const Parts::Place at = parts.place(i, Columns);
        if (!at.there) return;
        const ThreadScope thread;
        const std::uint64_t first = at.group * stride + at.begin * elements.step, n = at.end - at.begin;
        Found mine[Columns];
        if constexpr (Columns == 2) {
            accumulator.look_at_pair({elements.x + first, elements.step, n}, mine);
        } else {
            mine[0] = accumulator.look(thread, elements.part(thread, first, n));
        }
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
            if (parts.parts > 1) {
                A::shift(mine[c], at.begin);
                found[at.part * parts.count + at.group + c] = mine[c];
            } else {
                store(results, accumulator, at.group + c, mine[c]);
            }
        }
    }
};

} // namespace detreduce::cuda::multiset
