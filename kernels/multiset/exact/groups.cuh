// `exact` of groups. A warp adds up a small group; large ones are cut into slots, a block each. Of a small group that one window
// holds, the sums of its bins are all there is to know: a thread of the warp keeps them, and when there are as many groups as
// threads, each thread rounds one.
#pragma once

#include "multiset/exact/kernels.cuh"
#include "multiset/exact/bin_sums.cuh"
#include "groups/slots.cuh"

namespace detreduce::cuda::exact {

/// What groups_kernel and slots_kernel are to do: small groups, which a warp each reduces; slots of large ones, a block each.
struct GroupWork {
    Groups groups{};
    SlotTable table{};
    Word* states = nullptr;  ///< of slots, one after the other
    std::uint32_t batch = 1; ///< small groups that a warp takes at a time, at most 32
    const std::uint32_t* left =
        nullptr; ///< unless null, the groups to do, of whatever size: a bit each; and a batch is 32
};

/// A group that no window held, or whose zeros had to be counted, from its words, which are zero afterwards.
template <class Input>
__device__ __forceinline__ void round_from_words(WarpMemory<Input>& own, const Span& span, const Finish& finish) {
    constexpr int count = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters;
    using Room = RoundRoom<Input::states>;
    static_assert(sizeof(Room) <= sizeof own.copy); // which nobody else needs now
    const std::uint32_t lane = threadIdx.x % warp_size;
    if (lane == 0) {
        own.words[counters + acc::exact::elements] = static_cast<Word>(span.n);
        if (!span.valid) own.words[counters + acc::exact::nan_count] = 1;
    }
    sync_warp();
    round_by_warp<Input::states>(own.words, *reinterpret_cast<Room*>(own.copy), finish);
    sync_warp();
    for (int i = lane; i < count; i += warp_size)
        own.words[i] = 0;
    sync_warp();
}

/// The slots of large groups, a block each.
template <class Input>
__global__ void __launch_bounds__(block_threads, blocks_at_once<Input>)
    slots_kernel(const __grid_constant__ Input input, const __grid_constant__ GroupWork work) {
    constexpr int count = Input::states * acc::exact::words;
    __shared__ WarpMemory<Input> memory[block_warps];
    __shared__ Word total[count];
    const std::uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::uint64_t end = slots_used(work.table);
    for (std::uint64_t turn = blockIdx.x; turn < end; turn += gridDim.x) {
        const Slot slot = work.table.slots[turn];
        const Input part = input.part(slot.begin, slot.m);
        for (int i = lane; i < count; i += warp_size)
            memory[warp].words[i] = 0;
        sync_warp();
        add_share(part, memory[warp], warp, block_warps, Between{});
        add_up(memory, slot.m, total);
        for (int k = threadIdx.x; k < count; k += block_threads)
            work.states[turn * count + k] = total[k];
        __syncthreads(); // the words are used again
    }
}

/// The next batch with groups to do: this one, unless work.left says that there are none in it.
__device__ __forceinline__ std::uint64_t next_batch(const GroupWork& work, std::uint64_t base, std::uint64_t step) {
    if (work.left == nullptr) return base;
    for (; base < work.groups.count; base += warp_size * step) {
        const std::uint64_t mine = base + threadIdx.x % warp_size * step;
        const bool any = mine < work.groups.count && work.left[mine / 32] != 0;
        const std::uint32_t found = votes_of_warp(any);
        if (found != 0) return base + (__ffs(static_cast<int>(found)) - 1) * step;
    }
    return base;
}

/// What threads keep to round takes registers, which of mean and variance of doubles are too many for four blocks.
template <class Input>
inline constexpr int group_blocks =
    Input::states > acc::exact::product_states ? policy::exact_groups_of_moments.blocks : blocks_at_once<Input>;

/// Small groups, a warp each; large ones are left for slots_kernel.
template <class Input>
__global__ void __launch_bounds__(block_threads, group_blocks<Input>)
    groups_kernel(const __grid_constant__ Input input, const Finish finish, const __grid_constant__ GroupWork work) {
    constexpr int count = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters;
    using BinsOf = typename Input::FirstBins;
    __shared__ WarpMemory<Input> memory[block_warps];
    const std::uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    WarpMemory<Input>& own = memory[warp];
    for (int i = lane; i < count; i += warp_size)
        own.words[i] = 0;
    sync_warp();
    const std::uint64_t step = std::uint64_t{gridDim.x} * block_warps * work.batch;
    BinsOf bins(own.words + counters);
    for (std::uint64_t base = next_batch(work, (std::uint64_t{blockIdx.x} * block_warps + warp) * work.batch, step);
         base < work.groups.count; base = next_batch(work, base + step, step)) {
        const std::uint32_t left = work.left ? work.left[base / 32] : ~0u;
        Word mine[BinsOf::count] = {};
        typename BinsOf::Place place{};
        std::uint64_t n_mine = 0; // 0: this thread has nothing to round
#pragma unroll 1
        for (std::uint32_t i = 0; i < work.batch && base + i < work.groups.count; ++i) {
            if ((left >> i & 1) == 0) continue;
            Span span = span_of(work.groups, base + i);
            if (work.left == nullptr && span.n > work.table.length) {
                if (put_on_slots(work.table, base + i, span)) continue;
                span = {0, 0, false};
            }
            const Input part = input.part(span.begin, span.n);
            TermWalk<typename Input::Type, typename Input::MapType> walk{part, own, 0, 1};
            const std::uint32_t flushed = bins.flushed();
            walk.go(bins);
            bins.drain();
            if (span.n > 0 && flushed == bins.flushed() && walk.slow_tiles == 0 &&
                own.words[counters + acc::exact::negative_zeros] == 0) {
#pragma unroll
                for (int k = 0; k < BinsOf::count; ++k) {
                    const Word sum = bins.take_sum(k);
                    if (lane == i) mine[k] = sum;
                }
                if (lane == i) {
                    place = bins.place();
                    n_mine = span.n;
                }
            } else {
                bins.flush_all();
                round_from_words<Input>(own, span, finish.moved(base + i));
            }
        }
        if (n_mine > 0) {
            BinSums<BinsOf> sums;
#pragma unroll
            for (int k = 0; k < BinsOf::count; ++k)
                sums.set(k, mine[k]);
            sums.place = place;
            round_sums<BinsOf>(sums, n_mine, finish.moved(base + lane));
        }
    }
}

/// Large groups, from the states of their slots: a block each.
template <int States>
__global__ void __launch_bounds__(policy::large_group_threads)
    large_groups_kernel(const SlotTable table, const Word* states, const Finish finish) {
    constexpr int count = States * acc::exact::words, parts = policy::large_group_threads / count;
    __shared__ Word total[count];
    const int k = threadIdx.x % count, part = threadIdx.x / count;
    for (std::uint64_t i = blockIdx.x; i < table.used[1]; i += gridDim.x) {
        const LargeGroup group = table.large[i];
        const std::uint64_t slots = spec::tiles(group.n, table.length);
        Word sum = 0;
#pragma unroll 4
        for (std::uint64_t s = part; part < parts && s < slots; s += parts)
            sum += states[(group.first + s) * count + k];
        if (threadIdx.x < count) total[k] = 0;
        __syncthreads();
        if (sum != 0) atomic_add(total + k, sum);
        __syncthreads();
        round_words<States>(total, finish.moved(group.group));
        __syncthreads();
    }
}

} // namespace detreduce::cuda::exact
