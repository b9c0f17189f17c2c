// The kernels of the multiset engine, a scope each: the grid looks at a flat array, blocks at work
// items of large groups or at shares of a list, warps and teams of their threads at small groups,
// and threads at parts of columns. What several found is joined afterwards (join.cuh).
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

/// Small groups, each by `Threads` threads of a warp: all of them, or fewer where they are short
/// rows. Large groups go to `table`. A warp takes `batch` neighbours, a multiple of its teams and
/// at most 32, whose results its threads store all at once.
template <class A, int Threads>
__global__ void __launch_bounds__(max_threads)
    teams_kernel(const typename A::Type* x, const __grid_constant__ A accumulator,
                 const __grid_constant__ Groups groups, std::uint32_t batch, const __grid_constant__ WorkTable table,
                 const __grid_constant__ Results results) {
    constexpr std::uint32_t teams = warp_size / Threads;
    using PartOf = Part<typename A::Type, policy::compare_team_loads<Threads>>;
    const TeamScope<Threads> team;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    const std::uint32_t number = threadIdx.x % warp_size / Threads;
    for (std::uint64_t base = (std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size) * batch;
         base < groups.count; base += warps * batch) {
        Found mine{};
        bool have = false;
#pragma unroll 1
        for (std::uint32_t i = 0; i < batch && base + i < groups.count; i += teams) {
            const std::uint64_t group = base + i + number;
            const bool there = group < groups.count;
            const Span span = there ? span_of(groups, group) : Span{};
            const bool large = teams == 1 && span.n > table.length;
            if (large && list_work_items(table, group, span)) continue;
            Found found = accumulator.empty(span.valid && !large);
            if (teams > 1 ? groups.n > 0 : span.n > 0 && !large) // all of the warp, or none
                found = accumulator.look(team, PartOf(team, x + span.begin, static_cast<std::uint32_t>(span.n)));
            if (there && team.rank() == i / teams) {
                mine = found;
                have = true;
            }
        }
        if (have) store(results, accumulator, base + team.rank() * teams + number, mine);
    }
}

/// Work items of large groups, a block each.
template <class A>
__global__ void __launch_bounds__(max_threads)
    items_kernel(const typename A::Type* x, const __grid_constant__ A accumulator,
                 const __grid_constant__ WorkTable table, Found* found) {
    const BlockScope block;
    const std::uint64_t used = table.in_use();
    for (std::uint64_t i = blockIdx.x; i < used; i += gridDim.x) {
        const WorkItem item = table.items[i];
        if (item.m == 0) continue; // the same for the block
        const Found here = accumulator.look(block, Part<typename A::Type>(block, x + item.begin, item.m));
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
    const auto* const x = static_cast<const typename A::Type*>(tensor.x);
    Found all = A::identity();
    for (std::uint64_t at = begin; at < end; at += most_at_once) {
        Found here = accumulator.look(
            block, Part<typename A::Type>(block, x + at, static_cast<std::uint32_t>(min(most_at_once, end - at))));
        A::shift(here, tensor.second + at);
        A::merge(all, here);
        block.meet(); // shared memory is used again
    }
    if (threadIdx.x == 0) found[blockIdx.x] = all;
}

/// Parts of columns by a thread each (groups/parts.hpp), or of two neighbouring ones. What part p
/// of column g has is at found[p·count + g], with its index in the column; or, where there is one
/// part of each, it is the result.
template <class A>
struct LookAtColumns {
    using T = typename A::Type;
    static constexpr int blocks =
        policy::blocks_that_fit(fp::has_16_bits<T> ? policy::compare_columns_16_bits : policy::compare_columns);
    const T* x;
    A accumulator;
    std::uint64_t stride, step; ///< from one column, one element of it, to the next
    bool pairs;                 ///< does a thread look at two neighbouring columns?
    Parts parts;
    Found* found;
    Results results;

    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        if constexpr (fp::has_16_bits<T>) {
            if (pairs) return look<2>(i);
        }
        look<1>(i);
    }

  private:
    template <int Columns>
    __device__ __forceinline__ void look(std::uint64_t i) const {
        const Parts::Place at = parts.place(i, Columns);
        if (!at.there) return;
        Found mine[Columns];
        accumulator.look_at_columns(ColumnPart<T, Columns>{x + at.group * stride + at.begin * step, step,
                                                           static_cast<std::uint32_t>(at.end - at.begin)},
                                    mine);
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
