// `exact` of groups. Small ones are added up by some threads of a warp each (lanes.cuh); large ones
// are cut into work items, a block each. Of a small group that one window holds, the sums of its
// bins are all there is to know: a thread keeps them, and when there are as many groups as threads,
// each thread rounds one. Of sums plain.cuh may have left only some. Groups that no window held are
// added again: by a thread each where there are several and they are short, else by the warp.
#pragma once

#include "multiset/exact/kernels.cuh"
#include "multiset/exact/lanes.cuh"
#include "multiset/exact/thread_sum.cuh"

namespace detreduce::cuda::exact {

/// A group that no window held, or whose zeros had to be counted, from its words, which are zero
/// afterwards.
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
    warp_clear(own.words, count);
}

/// The work items of large groups, a block each.
template <class Input>
__global__ void __launch_bounds__(block_threads, blocks_at_once<Input>)
    items_kernel(const __grid_constant__ Input input, const __grid_constant__ GroupWork work) {
    constexpr int count = Input::states * acc::exact::words;
    __shared__ FlatMemory<Input> memory[block_warps];
    __shared__ Word total[count];
    const std::uint64_t end = work.table.in_use();
    for (std::uint64_t iteration = blockIdx.x; iteration < end; iteration += gridDim.x) {
        const WorkItem item = work.table.items[iteration];
        add_by_block(input.part(item.begin, item.m), memory, 0, block_warps, Between{}, item.m, total);
        for (int k = threadIdx.x; k < count; k += block_threads)
            work.states[iteration * count + k] = total[k];
        __syncthreads(); // the words are used again
    }
}

/// Blocks of groups_kernel. Of elements it keeps no tile in registers while it adds another.
template <class Input>
inline constexpr int group_blocks =
    Input::states > acc::exact::product_states || Input::binary ? policy::exact_groups_of_more.blocks
    : !Input::MapType::linear                                   ? policy::exact_groups_of_squares.blocks
    : fp::is_f64<typename Input::Type>                          ? policy::exact_groups_of_f64.blocks
                                                                : policy::exact_groups.blocks;

/// A group by a whole warp, by way of words, whatever is in it; or some of its elements, which are
/// added to its state unless that is null.
template <class Input>
__device__ __noinline__ void reduce_by_words(const Input& input, WarpMemory<Input>& own, Span span, Finish finish,
                                             Word* state = nullptr) {
    constexpr int count = Input::states * acc::exact::words;
    const Input part = input.part(span.begin, span.n);
    WideBins<Input> bins(own.words + LongOf<Input::states>::counters);
    TermWalk<typename Input::Type, typename Input::MapType> walk{part, own, 0, 1};
    walk.go(bins);
    bins.flush_all();
    if (state == nullptr) return round_from_words<Input>(own, span, finish);
    sync_warp();
    for (int i = threadIdx.x % warp_size; i < count; i += warp_size) {
        const Word w = carried_word(own.words, i);
        if (w != 0) atomic_add(state + i, w);
    }
    sync_warp();
    warp_clear(own.words, count);
}

/// A group by a thread alone, in a wide window; false if that does not hold it.
template <class Input>
[[nodiscard]] __device__ __noinline__ bool reduce_by_thread(const Input& input, Span span, Finish finish) {
    WideSum<typename Input::Type, typename Input::MapType, 0> wide;
    if (!wide.add_up(input.part(span.begin, span.n), 0, span.n)) return false;
    wide.round(span.n, finish);
    return true;
}

/// Small groups, some threads each; large ones are left for items_kernel. `Rest`: those that
/// work.left says, if it is there, as a kernel of its own: where a warp may leave a batch the
/// compiler guards each shuffle, which took rows of 128 bf16 elements from .76 of reading to .72.
template <class Input, bool Rest = false>
__global__ void __launch_bounds__(block_threads, group_blocks<Input>)
    groups_kernel(const __grid_constant__ Input input, const Finish finish, const __grid_constant__ GroupWork work) {
    using Sums = LaneSums<Input>;
    using BinsOf = typename Input::FirstBins;
    __shared__ WarpMemory<Input> memory[block_warps];
    const std::uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    WarpMemory<Input>& own = memory[warp];
    warp_clear(own.words, Input::states * acc::exact::words);
    using Window = typename BinsOf::Window;
    // From batch to batch, as registers are short where functions are called. As bytes: what has
    // constructors cannot be shared.
    alignas(Window) __shared__ unsigned char windows[block_warps][sizeof(Window)];
    Window& window = reinterpret_cast<Window&>(windows[warp]);
    if (lane == 0) window = BinsOf(nullptr).window();
    sync_warp();
    // Those groups of the batch at `base` that have a bit.
    const auto reduce_batch = [&](std::uint64_t base, std::uint32_t wanted) {
        Span span{0, 0, true};
        bool mine = lane < work.batch && base + lane < work.groups.count && (wanted >> lane & 1) != 0;
        if (mine) span = span_of(work.groups, base + lane);
        std::uint32_t large = votes_of_warp(span.n > work.table.length);
        for (; large != 0; large &= large - 1) {
            const int i = __ffs(static_cast<int>(large)) - 1;
            const Span whole{shuffle_from(span.begin, i), shuffle_from(span.n, i), true};
            const bool put = list_work_items(work.table, base + i, whole);
            if (static_cast<int>(lane) != i) continue;
            span = {0, 0, false};
            mine = !put;
        }
        BinsOf bins(nullptr);
        bins.set_window(window);
        Sums sums{input};
        const bool summed = sums.set_group(span, work.end, work.dense);
        sums.sum_up(bins, work.batch);
        if (sums.moved) {
            sync_warp();
            if (lane == 0) window = bins.window();
            sync_warp();
        }
        const std::uint32_t group = sums.lane_group();
        const auto n = static_cast<std::uint32_t>(shuffle_from(static_cast<std::uint32_t>(span.n), group));
        bool by_words = (votes_of_warp(mine) >> group & 1) != 0;
        if ((votes_of_warp(summed) >> group & 1) != 0 && sums.fits &&
            !sums.may_be_minus_zero(work.groups, base + group)) {
            by_words = false;
            const Finish to = finish.moved(base + group);
            if (!round_as_doubles<BinsOf>(sums.mine, sums.place, n, to)) {
                BinSums<BinsOf> total;
#pragma unroll
                for (int k = 0; k < BinsOf::count; ++k)
                    total.set(k, sums.mine[k]);
                total.place = sums.place;
                round_sums<BinsOf>(total, n, to);
            }
        }
        std::uint32_t remaining = votes_of_warp(by_words);
        if constexpr (!is_moments<typename Input::MapType>) {
            if (__popc(remaining) > policy::few_groups_by_words) {
                const Span own_span = by_words ? span_of(work.groups, base + group) : Span{0, 0, false};
                const bool done = own_span.valid && own_span.n > 0 && own_span.n <= policy::longest_group_of_thread &&
                                  reduce_by_thread<Input>(input, own_span, finish.moved(base + group));
                remaining &= ~votes_of_warp(done);
            }
        }
        for (; remaining != 0; remaining &= remaining - 1) {
            const std::uint64_t one = base + shuffle_from(group, __ffs(static_cast<int>(remaining)) - 1);
            Span of_one = span_of(work.groups, one);
            if (of_one.n > work.table.length) of_one = {0, 0, false};
            reduce_by_words<Input>(input, own, of_one, finish.moved(one));
        }
    };
    const std::uint64_t warps = std::uint64_t{gridDim.x} * block_warps,
                        number = std::uint64_t{blockIdx.x} * block_warps + warp;
    if constexpr (Rest) { // nearly always nothing: the bits of up to 32 batches are loaded at once
        const std::uint64_t batches = spec::tiles(work.groups.count, std::uint64_t{work.batch});
        const auto at_once =
            static_cast<std::uint32_t>(max(min(batches / (4 * warps), std::uint64_t{warp_size}), std::uint64_t{1}));
        for (std::uint64_t first = number * at_once; first < batches; first += warps * at_once) {
            const std::uint32_t left =
                lane < at_once && first + lane < batches ? work.left == nullptr ? ~0u : work.left[first + lane] : 0;
            for (std::uint32_t some = votes_of_warp(left != 0); some != 0; some &= some - 1) {
                const int i = __ffs(static_cast<int>(some)) - 1;
                reduce_batch((first + i) * work.batch, shuffle_from(left, i));
            }
        }
    } else {
        for (std::uint64_t base = number * work.batch; base < work.groups.count; base += warps * work.batch)
            reduce_batch(base, ~0u);
    }
}

/// Large groups, from the states of their work items.
template <int States>
struct LargeStates {
    static constexpr int threads = policy::large_group_threads;
    WorkTable table;
    const Word* states;

    [[nodiscard]] __device__ __forceinline__ std::uint64_t results() const { return table.used[1]; }
    __device__ __forceinline__ bool load(std::uint64_t i, Word* words, std::uint64_t& result) const {
        constexpr int count = States * acc::exact::words, parts = threads / count;
        const int k = threadIdx.x % count, part = threadIdx.x / count;
        const LargeGroup group = table.large[i];
        const std::uint64_t work_items = spec::tiles(group.n, table.length);
        Word sum = 0;
#pragma unroll 4
        for (std::uint64_t s = part; part < parts && s < work_items; s += parts)
            sum += states[(group.first + s) * count + k];
        if (threadIdx.x < count) words[k] = 0;
        __syncthreads();
        if (sum != 0) atomic_add(words + k, sum);
        result = group.group;
        return true;
    }
};

} // namespace detreduce::cuda::exact
