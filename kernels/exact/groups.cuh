// `exact` of groups and of lists of tensors. A warp adds up a small group; large ones are cut into slots, a block each. Of a small group that one window
// holds, the sums of its bins are all there is to know: a thread of the warp keeps them, and when there are as many groups as
// threads, each thread rounds one.
#pragma once

#include "exact/kernels.cuh"
#include "exact/bin_sums.cuh"
#include "groups/slots.cuh"
#include "tensors/list.hpp"

namespace detreduce::cuda::exact {

/// What groups_kernel and shares_kernel are to do: small groups, which a warp each reduces; slots of large ones, a block each; a list of tensors.
struct GroupWork {
    enum class Of : std::uint8_t { groups, slots, tensors };
    Of of = Of::groups;
    Groups groups{};
    SlotTable table{};
    Word* states = nullptr;  ///< of slots, or, unless null, of tensors: one after the other
    std::uint32_t bytes = 0; ///< of a result
    const TensorEntry* tensors = nullptr;
    const std::uint32_t* tensor_of_block = nullptr;
    std::uint32_t state_words = 0; ///< from one tensor's words to the next
    std::uint32_t batch = 1;       ///< small groups that a warp takes at a time, at most 32
    const std::uint32_t* left =
        nullptr; ///< unless null, the groups to do, of whatever size: a bit each; and a batch is 32
};

/// A group that no window held, or whose zeros had to be counted, from its words, which are zero afterwards.
template <class Input>
__device__ __forceinline__ void round_from_words(WarpMemory<Input>& own, const Span& span, const Finish& finish) {
    constexpr int count = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters;
    using Scratch = GroupScratch<Input::states>;
    static_assert(sizeof(Scratch) <= sizeof own.copy); // which nobody else needs now
    const std::uint32_t lane = threadIdx.x % warp_size;
    if (lane == 0) {
        own.words[counters + acc::exact::elements] = static_cast<Word>(span.n);
        if (!span.valid) own.words[counters + acc::exact::nan_count] = 1;
        round_group<Input::states>(own.words, *reinterpret_cast<Scratch*>(own.copy), finish);
    }
    __syncwarp();
    for (int i = lane; i < count; i += warp_size)
        own.words[i] = 0;
    __syncwarp();
}

/// What a block has to add: slot or tensor number `turn`.
template <class Input>
struct BlockShare {
    Input input;
    std::uint64_t first, warps, counted;
    Word* state; ///< of the slot, or the tensor
};
template <class Input>
__device__ __forceinline__ BlockShare<Input> share_of_block(const Input& input, const GroupWork& work,
                                                            std::uint64_t turn) {
    const std::uint32_t warp = threadIdx.x / warp_size;
    if (work.of == GroupWork::Of::slots) {
        const Slot slot = work.table.slots[turn];
        Word* const state = work.states + turn * (Input::states * acc::exact::words);
        return {input.part(slot.begin, slot.m), warp, block_warps, slot.m, state};
    }
    const TensorEntry entry = work.tensors[work.tensor_of_block[turn]];
    const std::uint32_t block = static_cast<std::uint32_t>(turn) - entry.first_block;
    Word* const state = work.states ? work.states + std::uint64_t{entry.index} * work.state_words : nullptr;
    using T = typename Input::Type;
    const T* y = nullptr;
    if constexpr (Input::binary) y = reinterpret_cast<const T*>(static_cast<std::uintptr_t>(entry.second));
    return {Input(static_cast<const T*>(entry.x), y, entry.n, 1), std::uint64_t{block} * block_warps + warp,
            std::uint64_t{entry.blocks} * block_warps, block == 0 ? entry.n : 0, state};
}

/// The slots of large groups, or tensors. `state`: of a list, the sum of all.
template <class Input>
__global__ void __launch_bounds__(block_threads, blocks_at_once<Input>)
    shares_kernel(const __grid_constant__ Input input, Word* state, const __grid_constant__ GroupWork work) {
    constexpr int count = Input::states * acc::exact::words;
    __shared__ WarpMemory<Input> memory[block_warps];
    __shared__ Word total[count];
    const std::uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const bool slots = work.of == GroupWork::Of::slots;
    if (!slots) wait_for_previous_kernel(); // which has written the list
    const std::uint64_t end = slots ? slots_used(work.table) : gridDim.x;
    for (std::uint64_t turn = blockIdx.x; turn < end; turn += gridDim.x) {
        const auto share = share_of_block(input, work, turn);
        if (share.input.n == 0) continue; // the same for the block
        for (int i = lane; i < count; i += warp_size)
            memory[warp].words[i] = 0;
        __syncwarp();
        add_share(share.input, memory[warp], share.first, share.warps, Between{});
        add_up(memory, share.counted, total);
        for (int k = threadIdx.x; k < count; k += block_threads) {
            if (slots) {
                share.state[k] = total[k];
            } else if (total[k] != 0) {
                atomic_add(state + k, total[k]);
                if (share.state) atomic_add(share.state + k, total[k]);
            }
        }
        __syncthreads(); // the words are used again
    }
}

/// The next batch with groups to do: this one, unless work.left says that there are none in it.
__device__ __forceinline__ std::uint64_t next_batch(const GroupWork& work, std::uint64_t base, std::uint64_t step) {
    if (work.left == nullptr) return base;
    for (; base < work.groups.count; base += warp_size * step) {
        const std::uint64_t mine = base + threadIdx.x % warp_size * step;
        const bool any = mine < work.groups.count && work.left[mine / 32] != 0;
        const std::uint32_t found = __ballot_sync(all_threads, any);
        if (found != 0) return base + (__ffs(static_cast<int>(found)) - 1) * step;
    }
    return base;
}

/// Small groups, a warp each; large ones are left for shares_kernel.
template <class Input>
__global__ void __launch_bounds__(block_threads, blocks_at_once<Input>)
    groups_kernel(const __grid_constant__ Input input, const Finish finish, const __grid_constant__ GroupWork work) {
    constexpr int count = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters;
    using BinsOf = typename Input::FirstBins;
    __shared__ WarpMemory<Input> memory[block_warps];
    const std::uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    WarpMemory<Input>& own = memory[warp];
    for (int i = lane; i < count; i += warp_size)
        own.words[i] = 0;
    __syncwarp();
    const std::uint64_t step = std::uint64_t{gridDim.x} * block_warps * work.batch;
    BinsOf bins(own.words + counters);
    for (std::uint64_t base = next_batch(work, (std::uint64_t{blockIdx.x} * block_warps + warp) * work.batch, step);
         base < work.groups.count; base = next_batch(work, base + step, step)) {
        const std::uint32_t left = work.left ? work.left[base / 32] : ~0u;
        BinSums<BinsOf> mine{};
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
            const std::uint32_t flushes = bins.flushes;
            walk.go(bins);
            bins.drain();
            if (span.n > 0 && flushes == bins.flushes && walk.slow_tiles == 0 &&
                own.words[counters + acc::exact::negative_zeros] == 0) {
#pragma unroll
                for (int k = 0; k < BinSums<BinsOf>::count; ++k) {
                    const Word sum = bins.take_sum(k);
                    if (lane == i) mine.set(k, sum);
                }
                if (lane == i) {
                    mine.top = bins.top;
                    n_mine = span.n;
                }
            } else {
                bins.flush_all();
                Finish one = finish;
                one.out = static_cast<char*>(finish.out) + (base + i) * work.bytes;
                round_from_words<Input>(own, span, one);
            }
        }
        if (n_mine > 0) {
            Finish one = finish;
            one.out = static_cast<char*>(finish.out) + (base + lane) * work.bytes;
            round_sums<BinsOf>(mine, n_mine, one);
        }
    }
}

inline constexpr int large_group_threads = 512;

/// Large groups, from the states of their slots: a block each.
template <int States>
__global__ void __launch_bounds__(large_group_threads)
    large_groups_kernel(const SlotTable table, const Word* states, const Finish finish, std::uint32_t bytes) {
    constexpr int count = States * acc::exact::words, parts = large_group_threads / count;
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
        Finish one = finish;
        one.out = static_cast<char*>(finish.out) + group.group * bytes;
        round_words<States>(total, one);
        __syncthreads();
    }
}

} // namespace detreduce::cuda::exact
