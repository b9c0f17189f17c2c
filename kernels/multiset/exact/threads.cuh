// `exact` of columns: a thread each, or, of long columns, a thread for each of their parts.
// Neighbouring threads read neighbouring columns. Each thread has a window of its own, made for the
// first elements of its group, and sees at the end whether it held them all. Where it did not, its
// warp adds the part again, to the state of a long group; a short group is added again as a whole.
#pragma once

#include "groups/parts.hpp"
#include "for_each.cuh"
#include "multiset/exact/groups.cuh"
#include "multiset/exact/thread_sum.cuh"
#include "platform/grid.cuh"

namespace detreduce::cuda::exact {

/// Parts of groups by a thread each, or of neighbouring columns. The last warp that arrives, of
/// those that have parts of the same groups, rounds them. Parts that no window held: those of long
/// groups their threads add at once to the groups' states; short groups those of the last warp add
/// as a whole. What remains the warp adds, one part after the other.
template <class Input>
struct AddUpParts {
    Input input;
    std::uint64_t stride;
    Parts parts;
    Finish finish;
    Word* sums;               ///< number k of sum s of group g is at sums[(k·parts.sums + s)·count + g]
    std::uint32_t* remaining; ///< a bit for each thread of a warp: a part of its groups is in no sum
    std::uint32_t* arrived;   ///< of them, sums that are done, and, of each sum, parts. These three are 0 before
    Word* states;             ///< of each group, 0 before: of what is in no sum; unless null
    bool most;                ///< a thread has as many neighbouring columns as it can
    using Sum = SumOf<Input>;
    using Memory = WarpMemory<Input>;
    static constexpr int words = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters,
                         blocks = Sum::blocks;
    static constexpr std::uint32_t threads =
        column_threads(fp::is_f64<typename Input::Type>, is_moments<typename Input::MapType>);

    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        if constexpr (Sum::next_is_apart) let_next_kernel_start();
        if constexpr (Sum::maximum_columns > Sum::minimum_columns) {
            if (most) return add_up<Sum::maximum_columns>(i);
        }
        add_up<Sum::minimum_columns>(i);
    }

  private:
    template <int Columns>
    __device__ __forceinline__ void add_up(std::uint64_t i) const {
        using BinsOf = typename Sum::template BinsOfColumns<Columns>;
        const Parts::Place at = parts.place(i, Columns);
        const std::uint64_t unit = at.word / Columns, in_sum = at.part / parts.together;
        const std::uint32_t lane = threadIdx.x % warp_size;
        BinsOf bins[Columns];
        const bool held = Sum::template add_up_columns<Columns>(input.part(at.group * stride, parts.n), at, bins);
        const std::uint32_t misfits = votes_of_warp(at.there && !held);
        if (parts.parts == 1) {
            if (held) {
                each_wanted<Columns>([&](int c) { round(at.group + c, bins[c]); });
            }
            if (misfits != 0) add_again(misfits, Columns, at.word, 0, parts.n, nullptr);
            return;
        }
        if (held) {
            each_wanted<Columns>([&](int c) {
#pragma unroll
                for (int k = 0; k < BinsOf::count; ++k)
                    atomic_add(sum(k, in_sum, at.group + c), bins[c].own_sum(k));
            });
        }
        if (misfits != 0) {
            if (states != nullptr) add_again(misfits, Columns, at.word, at.begin, at.end, states);
            if (lane == 0) atomicOr(remaining + unit, misfits);
        }
        sync_warp();
        bool last = false;
        if (lane == 0) { // few at a place: that is faster than all at one
            std::uint32_t* const done = arrived + unit * (parts.sums + 1);
            const auto before = in_sum * parts.together, others = min(parts.parts - before, parts.together) - 1;
            last = count_arrival(done + 1 + in_sum, 1) == others && count_arrival(done, 1) == parts.sums - 1;
        }
        if (!any_of_warp(last)) return;
        sync_warp(); // now the others, too, see what is there
        const std::uint32_t left = load_from_l2(remaining + unit);
        if (at.there && (left >> lane & 1) == 0) {
            each_wanted<Columns>(
                [&](int c) { round_sums<BinsOf>(sums_of(at.group + c, bins[c]), parts.n, finish_of(at.group + c)); });
        }
        if (left == 0) return;
        if (states == nullptr) return add_again(left, Columns, at.word, 0, parts.n, nullptr);
        Memory& own = memory();
        for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
            const auto thread = static_cast<std::uint32_t>(__ffs(static_cast<int>(rest)) - 1);
            each_wanted<Columns>([&](int c) {
                const std::uint64_t group = shuffle_from(at.group, thread) + c;
                for (int k = static_cast<int>(lane); k < words; k += warp_size)
                    own.words[k] = load_from_l2(states + group * words + k);
                sync_warp();
                if (lane == thread) {
                    const BinSums<BinsOf> all = sums_of(group, bins[c]);
#pragma unroll
                    for (int k = 0; k < BinsOf::count; ++k)
                        bins[c].deposit(own.words + counters, k, all.low[k], all.high[k]);
                }
                sync_warp();
                round_from_words<Input>(own, {0, parts.n, true}, finish_of(group));
            });
        }
    }
    template <int Columns, class F>
    __device__ __forceinline__ void each_wanted(const F& f) const {
#pragma unroll
        for (int c = 0; c < Columns; ++c)
            if (Sum::wants(input, c)) f(c);
    }
    [[nodiscard]] __device__ __forceinline__ Finish finish_of(std::uint64_t group) const {
        return Sum::finish_of(input, finish, group);
    }
    [[nodiscard]] __device__ __forceinline__ Word* sum(int k, std::uint64_t s, std::uint64_t group) const {
        return sums + (k * parts.sums + s) * parts.count + group;
    }
    template <class BinsOf>
    [[nodiscard]] __device__ __forceinline__ BinSums<BinsOf> sums_of(std::uint64_t group, const BinsOf& bins) const {
        BinSums<BinsOf> all{};
#pragma unroll
        for (int k = 0; k < BinsOf::count; ++k) {
#pragma unroll 4
            for (std::uint64_t s = 0; s < parts.sums; ++s)
                all.add(k, load_from_l2(sum(k, s, group)));
        }
        all.place = bins.place();
        return all;
    }
    template <class BinsOf>
    __device__ __forceinline__ void round(std::uint64_t group, BinsOf& bins) const {
        Word held[BinsOf::count];
        BinSums<BinsOf> all;
        for (int k = 0; k < BinsOf::count; ++k) {
            held[k] = bins.own_sum(k);
            all.set(k, held[k]);
        }
        all.place = bins.place();
        const Finish to = finish_of(group);
        if (!round_as_doubles<BinsOf>(held, all.place, parts.n, to)) round_sums<BinsOf>(all, parts.n, to);
    }
    static __device__ __forceinline__ Memory& memory() {
        __shared__ Memory of[threads / warp_size];
        return of[threadIdx.x / warp_size];
    }
    /// Elements begin … end − 1 of the groups of these threads, a bit each, again: to `to`, or
    /// rounded.
    __device__ __noinline__ void add_again(std::uint32_t which, int columns, std::uint64_t word, std::uint64_t begin,
                                           std::uint64_t end, Word* to) const {
        Memory& own = memory();
        warp_clear(own.words, words);
        sync_warp();
        const std::uint32_t lane = threadIdx.x % warp_size;
        for (int c = 0; c < columns; ++c) {
            if (!Sum::wants(input, c)) continue;
            const std::uint64_t first = word * warp_size + c, mine = first + columns * lane;
            std::uint32_t added = 0; // by their threads
            WideSums<Input> wide;
            if constexpr (WideSums<Input>::there) {
                constexpr int few = policy::few_misfits<Input::MapType::linear, fp::is_f64<typename Input::Type>>;
                const bool held = __popc(which) > few && (which >> lane & 1) != 0 &&
                                  wide.add_up(input.part(mine * stride, parts.n), begin, end);
                added = votes_of_warp(held);
                if (held && to != nullptr)
                    wide.deposit(to + mine * words, [](Word* limb, Word value) { atomic_add(limb, value); });
            }
            for (std::uint32_t rest = to != nullptr ? which & ~added : which; rest != 0; rest &= rest - 1) {
                const auto thread = static_cast<std::uint32_t>(__ffs(static_cast<int>(rest)) - 1);
                const std::uint64_t group = first + columns * thread;
                if ((added >> thread & 1) != 0) {
                    if (lane == thread) wide.deposit(own.words, [](Word* limb, Word value) { *limb += value; });
                    sync_warp();
                    round_from_words<Input>(own, {0, parts.n, true}, finish_of(group));
                } else {
                    reduce_by_words<Input>(input, own, {group * stride + begin * input.step, end - begin, true},
                                           finish_of(group), to != nullptr ? to + group * words : nullptr);
                }
            }
        }
    }
};

} // namespace detreduce::cuda::exact
