// `exact` of columns: a thread each, or, of long columns, a thread for each of their parts.
// Neighbouring threads read neighbouring columns. Each thread has a window of its own, made for the
// first elements of its group, and sees at the end whether it held them all; where it did not,
// groups_kernel is to do the group again, or, of a long one, the part.
#pragma once

#include "multiset/exact/bin_sums.cuh"
#include "groups/groups.hpp"
#include "groups/parts.hpp"

namespace detreduce::cuda::exact {

template <class T, class Map>
struct ThreadSum {
    using Input = Terms<T, Map>;
    using Window = spec::ExactWindow<double, 2, 5>;
    using BinsOf = typename BinsIn<T, Map, Window>::type;
    using Walk = TermWalk<T, Map>;
    static constexpr int per_vector = 16 / static_cast<int>(sizeof(T)), terms = per_vector * BinsOf::parts,
                         ahead = Map::inputs == 2 ? 2 : 4; ///< loads of 16 bytes in flight
    /// A thread's window is made for a few elements, and cannot move. Sums of doubles have 40 bits
    /// to spare, most of which they need below.
    static constexpr int room_above = fp::is_f64<T> && Map::linear ? 10 : 16;
    static_assert(terms <= Window::adds);
    static_assert(policy::longest_exact_part * Map::parts <= 1u << 17); // as TermBins::drain_own() wants

    /// 16 bytes of elements from number i on; zeros, whose terms are +0, behind the end.
    static __device__ __forceinline__ uint4 load(const Input& input, const T* p, std::uint64_t i) {
        if (i >= input.n) return {};
        const auto there = min(input.n - i, std::uint64_t{per_vector});
        return Input::gather_some(p + i * input.step, input.step, static_cast<int>(there));
    }

    /// The sums of elements begin … end − 1 of the group `input`, in a window that depends on its
    /// first elements alone. False if that does not hold them, or if there might be nothing but −0.
    static __device__ __forceinline__ bool add_up(const Input& input, std::uint64_t begin, std::uint64_t end,
                                                  BinsOf& bins) {
        Range range_x, range_y;
        const uint4 first_x = load(input, input.x, 0), first_y = Input::binary ? load(input, input.y, 0) : first_x;
        Walk::template look<BinsOf>(range_x, range_y, first_x, first_y);
        Range settled_x = range_x, settled_y = range_y;
        Walk::template settle<BinsOf>(settled_x, settled_y);
        const Exponents a = exponents_between<T>(settled_x.largest, settled_x.smallest_less_one),
                        b = BinsOf::shared_room ? a
                                                : exponents_between<T>(settled_y.largest, settled_y.smallest_less_one);
        const bool all_may_be_minus_zero = Walk::counts_minus_zeros && Walk::is_minus_zero(first_x, first_y);
        if (!a.finite() || !b.finite() || all_may_be_minus_zero || !bins.move_to(a, b, room_above)) return false;
        for (std::uint64_t i = begin; i < end; i += ahead * per_vector) {
            uint4 xs[ahead], ys[ahead];
            if (i + ahead * per_vector <= end) { // all loads at once
#pragma unroll
                for (int j = 0; j < ahead; ++j) {
                    const std::uint64_t at = (i + j * per_vector) * input.step;
                    xs[j] = input.gather(input.x + at);
                    if constexpr (Input::binary) ys[j] = input.gather(input.y + at);
                }
            } else { // behind it there is nothing
#pragma unroll
                for (int j = 0; j < ahead; ++j) {
                    xs[j] = load(input, input.x, i + j * per_vector);
                    if constexpr (Input::binary) ys[j] = load(input, input.y, i + j * per_vector);
                }
            }
#pragma unroll
            for (int j = 0; j < ahead; ++j) {
                if constexpr (!Input::binary) ys[j] = xs[j];
                Walk::template look<BinsOf>(range_x, range_y, xs[j], ys[j]);
                bins.reserve_own(terms);
#pragma unroll
                for (int k = 0; k < BinsOf::parts; ++k)
                    Walk::add_part(bins, k, xs[j], ys[j]);
            }
        }
        bins.drain_own();
        Walk::template settle<BinsOf>(range_x, range_y);
        return bins.holds(range_x, range_y);
    }

    /// Of two neighbouring columns of 16 bits, an element of both in 32 bits.
    static constexpr bool can_pair = moves_elements<T, Map>;
    /// In one bin, which holds all of f16, and of bf16 38 binades.
    using PairBins = TermBins<T, Map, std::conditional_t<can_pair, spec::ExactWindow<double, 1, 6>, Window>>;
    static constexpr int pair_rows = 16, pair_room_above = 10;
    /// Elements begin … end − 1 of both, 0 behind; pair_rows of them at most.
    static __device__ __forceinline__ void load_pairs(const Input& input, std::uint64_t begin, std::uint64_t end,
                                                      std::uint32_t (&both)[pair_rows]) {
        const auto* const p = reinterpret_cast<const std::uint32_t*>(input.x + begin * input.step);
        const std::uint64_t step = input.step / 2;
        if (begin + pair_rows <= end) {
#pragma unroll
            for (int i = 0; i < pair_rows; ++i)
                both[i] = load_read_only(p + i * step);
        } else {
#pragma unroll
            for (int i = 0; i < pair_rows; ++i)
                both[i] = begin + i < end ? load_read_only(p + i * step) : 0;
        }
    }
    static __device__ __forceinline__ void look(Range& range, const std::uint32_t (&both)[pair_rows]) {
#pragma unroll
        for (int i = 0; i < pair_rows; i += 4)
            Element<T>::look(range, uint4{both[i], both[i + 1], both[i + 2], both[i + 3]});
    }
    /// As add_up(), of two columns in one window, the first of which `input` is.
    static __device__ __forceinline__ bool add_up_pair(const Input& input, std::uint64_t begin, std::uint64_t end,
                                                       PairBins (&bins)[2]) {
        std::uint32_t both[pair_rows];
        Range range;
        load_pairs(input, 0, input.n, both);
        look(range, both);
        Range settled = range;
        Element<T>::settle(settled);
        const Exponents a = exponents_between<T>(settled.largest, settled.smallest_less_one);
        const bool minus_zero =
            Walk::counts_minus_zeros && ((both[0] & 0xffffu) == 0x8000u || both[0] >> 16 == 0x8000u);
        if (!a.finite() || minus_zero || !bins[0].move_to(a, a, pair_room_above)) return false;
        bins[1].set_window(bins[0].window());
#pragma unroll 1
        for (std::uint64_t i = begin; i < end; i += pair_rows) {
            load_pairs(input, i, end, both);
            look(range, both);
            settled = range;
            Element<T>::settle(settled);
            const bool fours = Walk::fours_fit(settled);
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const std::uint32_t halves = c == 0 ? 0x5410 : 0x7632;
                bins[c].reserve_own(pair_rows);
#pragma unroll
                for (int j = 0; j < pair_rows; j += 8) {
                    const uint4 v{
                        __byte_perm(both[j], both[j + 1], halves), __byte_perm(both[j + 2], both[j + 3], halves),
                        __byte_perm(both[j + 4], both[j + 5], halves), __byte_perm(both[j + 6], both[j + 7], halves)};
                    Walk::add_part(bins[c], 0, v, v, fours);
                }
            }
        }
        bins[0].drain_own();
        bins[1].drain_own();
        Element<T>::settle(range);
        return bins[0].holds(range, range);
    }

    /// Sums of so many neighbouring columns.
    template <int Columns>
    using BinsOfColumns = std::conditional_t<Columns == 1, BinsOf, PairBins>;
    template <int Columns>
    static __device__ __forceinline__ bool add_up_columns(const Input& input, std::uint64_t begin, std::uint64_t end,
                                                          BinsOfColumns<Columns> (&bins)[2]) {
        if constexpr (Columns == 1)
            return add_up(input, begin, end, bins[0]);
        else
            return add_up_pair(input, begin, end, bins);
    }
};

template <class Input>
using SumOf = ThreadSum<typename Input::Type, typename Input::MapType>;

/// Parts of groups by a thread each, or of two neighbouring columns. They are rounded at once where
/// there is one part of each.
template <class Input>
struct AddUpParts {
    Input input;
    std::uint64_t stride;
    Parts parts;
    Finish finish;
    Word* sums;               ///< number k of part p of group g is at sums[(k·parts + p)·count + g]
    std::uint32_t* fits;      ///< a bit for each part of each group: all of it was in the window
    std::uint32_t* remaining; ///< a bit for each group: all of it, or some parts, are to be done again
    std::uint32_t* listed;    ///< unless null: how many words of these are not zero, and, behind that, which
    Word* states;             ///< of such groups: of what fits; unless null, as is `listed`
    bool pairs;               ///< a thread has two neighbouring columns
    using Sum = SumOf<Input>;

    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        if (listed != nullptr && i == 0) *listed = 0;
        if constexpr (Sum::can_pair) {
            if (pairs) return add_up<2>(i);
        }
        add_up<1>(i);
    }

  private:
    template <int Columns>
    __device__ __forceinline__ void add_up(std::uint64_t i) const {
        constexpr std::uint32_t lanes = warp_size / Columns, ones = (1u << Columns) - 1; // of a word
        using BinsOf = typename Sum::template BinsOfColumns<Columns>;
        const Parts::Place at = parts.place(i, Columns);
        const std::uint32_t lane = threadIdx.x % warp_size;
        BinsOf bins[2] = {BinsOf(nullptr), BinsOf(nullptr)};
        const bool held = at.there && Sum::template add_up_columns<Columns>(input.part(at.group * stride, parts.n),
                                                                            at.begin, at.end, bins);
        const bool several = parts.parts > 1;
        const std::uint32_t mine = at.there && held == several ? ones << Columns * (lane % lanes) : 0;
        std::uint32_t* const bits = several ? fits + at.part * parts.words() : remaining;
#pragma unroll
        for (std::uint32_t w = 0; w < Columns; ++w) {
            const std::uint32_t set = warp_add(lane / lanes == w ? mine : 0);
            if (lane == 0 && at.word + w < parts.words()) bits[at.word + w] = set;
        }
        if (!at.there || !(held || several)) return;
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
            if (!several) {
                round(at.group + c, bins[c]);
                continue;
            }
#pragma unroll
            for (int k = 0; k < BinsOf::count; ++k)
                sums[(k * parts.parts + at.part) * parts.count + at.group + c] = held ? bins[c].own_sum(k) : 0;
        }
    }
    template <class BinsOf>
    __device__ __forceinline__ void round(std::uint64_t group, BinsOf& bins) const {
        Word held[BinsOf::count];
        BinSums<BinsOf> all;
#pragma unroll
        for (int k = 0; k < BinsOf::count; ++k) {
            held[k] = bins.own_sum(k);
            all.set(k, held[k]);
        }
        all.place = bins.place();
        const Finish to = finish.moved(group);
        if (!round_as_doubles<BinsOf>(held, all.place, parts.n, to)) round_sums<BinsOf>(all, parts.n, to);
    }
};

/// Adds up the parts of each group, by whole warps, and rounds; or, if not all parts are in them,
/// puts what is into the group's state.
template <class Input>
struct JoinParts {
    AddUpParts<Input> of;
    using Sum = SumOf<Input>;

    __device__ __forceinline__ void operator()(std::uint64_t group) const {
        const Parts& parts = of.parts;
        const std::uint64_t word = group / warp_size;
        const std::uint32_t lane = threadIdx.x % warp_size;
        std::uint32_t all_fit = ~0u;
        for (std::uint64_t part = 0; part < parts.parts; ++part)
            all_fit &= of.fits[part * parts.words() + word];
        const bool fits = (all_fit >> lane & 1) != 0;
        const std::uint32_t remaining = votes_of_warp(group < parts.count && !fits);
        if (lane == 0) {
            of.remaining[word] = remaining;
            if (of.listed != nullptr && remaining != 0)
                of.listed[1 + atomicAdd(of.listed, 1u)] = static_cast<std::uint32_t>(word);
        }
        if (group >= parts.count || (!fits && of.states == nullptr)) return;
        if constexpr (Sum::can_pair) {
            if (of.pairs) return join<2>(group, fits);
        }
        join<1>(group, fits);
    }

  private:
    template <int Columns>
    __device__ __forceinline__ void join(std::uint64_t group, bool all_fit) const {
        using BinsOf = typename Sum::template BinsOfColumns<Columns>;
        const Parts& parts = of.parts;
        BinSums<BinsOf> sums{};
#pragma unroll
        for (int k = 0; k < BinsOf::count; ++k) {
#pragma unroll 4
            for (std::uint64_t part = 0; part < parts.parts; ++part)
                sums.add(k, of.sums[(k * parts.parts + part) * parts.count + group]);
        }
        BinsOf bins[2] = {BinsOf(nullptr), BinsOf(nullptr)}; // they stay empty: to learn where their window is
        (void)Sum::template add_up_columns<Columns>(of.input.part(group / Columns * Columns * of.stride, parts.n), 0, 0,
                                                    bins);
        if (all_fit) {
            sums.place = bins[0].place();
            return round_sums<BinsOf>(sums, parts.n, of.finish.moved(group));
        }
        constexpr int words = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters;
        Word* const state = of.states + group * words;
#pragma unroll 1
        for (int k = 0; k < words; ++k)
            state[k] = k == counters + acc::exact::elements ? static_cast<Word>(parts.n) : 0;
#pragma unroll 1
        for (int k = 0; k < BinsOf::count; ++k)
            bins[0].deposit(state + counters, k, sums.low[k], sums.high[k]);
    }
};

} // namespace detreduce::cuda::exact
