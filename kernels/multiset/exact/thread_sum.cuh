// The sum of a group, or of a part of it, by one thread: in a window that is made for its first
// elements, or in a wide one, which is made for all of them.
#pragma once

#include "multiset/exact/bin_sums.cuh"

namespace detreduce::cuda::exact {

template <class T, class Map>
struct ThreadSum {
    using Input = Terms<T, Map>;
    using Window = spec::ExactWindow<double, column_bins<T, Map>, 5>;
    using BinsOf = typename BinsIn<T, Map, Window>::type;
    using Walk = TermWalk<T, Map>;
    struct NoOther {
        template <class F>
        __device__ __forceinline__ bool operator()(const Exponents&, const Exponents&, const F&) const {
            return false;
        }
    };
    static constexpr int per_vector = 16 / static_cast<int>(sizeof(T)), terms = per_vector * BinsOf::parts,
                         ahead = Map::inputs == 2 ? 2 : 4; ///< loads of 16 bytes in flight
    /// A thread's window is made for a few elements, and cannot move. Sums of doubles, and products
    /// in two bins, have 40 bits to spare, most of which they need below.
    static constexpr int room_above = !Map::linear ? 8 : fp::is_f64<T> ? 10 : 16;
    static_assert(terms <= Window::adds);
    static_assert(policy::longest_exact_sum * Map::parts <= Window::most_held);

    /// What a thread loads at once: elements from number i on of the group that begins at x; zeros,
    /// whose terms are +0, from number `end` on.
    static __device__ __forceinline__ void load(const Input& input, const T* x, std::uint64_t i, std::uint64_t end,
                                                uint4 (&to)[ahead]) {
        const std::uint64_t step = per_vector * input.step;
        const int there = static_cast<int>(min(end - i, std::uint64_t{ahead * per_vector}));
        x += i * input.step;
        if (there == ahead * per_vector) {
#pragma unroll
            for (int j = 0; j < ahead; ++j)
                to[j] = input.gather(x + j * step);
        } else {
#pragma unroll
            for (int j = 0; j < ahead; ++j)
                to[j] = Input::gather_some(x + j * step, input.step, there - j * per_vector);
        }
    }

    /// The sums of elements begin … end − 1 of the group `input`, in a window that depends on its
    /// first elements alone, or on all that are added. False if that does not hold them, or if
    /// there might be nothing but −0. Where there is no such window, otherwise(exponents of x, of
    /// y, what adds them up in bins whose window was moved).
    template <bool OfAll = false, class B, class F = NoOther>
    static __device__ __forceinline__ bool add_up(const Input& input, std::uint64_t begin, std::uint64_t end, B& bins,
                                                  const F& otherwise = {}) {
        Range range_x, range_y;
        uint4 xs[ahead], of_y[ahead], (&ys)[ahead] = Input::binary ? of_y : xs;
        const auto load_and_look = [&](std::uint64_t from, std::uint64_t to) {
            load(input, input.x, from, to, xs);
            if constexpr (Input::binary) load(input, input.y, from, to, ys);
#pragma unroll
            for (int j = 0; j < ahead; ++j)
                Walk::template look<B>(range_x, range_y, xs[j], ys[j]);
        };
        if constexpr (OfAll) {
            for (std::uint64_t i = begin; i < end; i += ahead * per_vector)
                load_and_look(i, end);
        } else {
            load_and_look(0, input.n);
        }
        Range settled_x = range_x, settled_y = range_y;
        Walk::template settle<B>(settled_x, settled_y);
        const Exponents a = exponents_between<T>(settled_x.largest, settled_x.smallest_less_one),
                        b = B::shared_room ? a : exponents_between<T>(settled_y.largest, settled_y.smallest_less_one);
        const bool all_may_be_minus_zero = Walk::counts_minus_zeros && Walk::is_minus_zero(xs[0], ys[0]);
        if (!a.finite() || !b.finite() || all_may_be_minus_zero) return false;
        const auto add_all = [&](auto& to) {
            for (std::uint64_t i = begin; i < end; i += ahead * per_vector) {
                load_and_look(i, end);
#pragma unroll
                for (int j = 0; j < ahead; ++j) {
                    to.reserve_own(per_vector * B::parts);
#pragma unroll
                    for (int k = 0; k < B::parts; ++k)
                        Walk::add_part(to, k, xs[j], ys[j]);
                }
            }
            to.drain_own();
            Walk::template settle<B>(range_x, range_y);
            return to.holds(range_x, range_y);
        };
        return bins.move_to(a, b, OfAll ? 0 : room_above) ? add_all(bins) : otherwise(a, b, add_all);
    }

    /// Of two neighbouring columns of 16 bits, an element of both in 32 bits.
    static constexpr bool can_pair = fp::has_16_bits<T> && Map::inputs == 1;
    using PairBins = typename Input::FirstBins;
    static constexpr int pair_rows = 16, pair_room_above = Map::linear ? 10 : 4;
    /// Is the range of each 16 rows asked for on its own?
    static constexpr bool looks_at_each = Walk::has_fours || PairBins::in_one_bin;
    /// `there` elements of both, which are at p, and 0 behind them; pair_rows of them at most.
    static __device__ __forceinline__ void load_pairs(const std::uint32_t* p, std::uint64_t step, std::uint64_t there,
                                                      std::uint32_t (&both)[pair_rows]) {
        if (there >= pair_rows) {
#pragma unroll
            for (int i = 0; i < pair_rows; ++i)
                both[i] = load_read_only(p + i * step);
        } else {
#pragma unroll
            for (int i = 0; i < pair_rows; ++i)
                both[i] = i < there ? load_read_only(p + i * step) : 0;
        }
    }
    /// As add_up(), of two columns in one window, the first of which `input` is; false, too, where
    /// they are not `there`. All threads of a warp call it, as they vote on the quicker ways.
    static __device__ __forceinline__ bool add_up_pair(const Input& input, std::uint64_t begin, std::uint64_t end,
                                                       bool there, PairBins (&bins)[2]) {
        std::uint32_t both[pair_rows];
        Range all;
        const std::uint64_t step = input.step / 2;
        const auto* p = reinterpret_cast<const std::uint32_t*>(input.x);
        const auto load_and_look = [&](std::uint64_t count) {
            load_pairs(p, step, count, both);
            Range range;
#pragma unroll
            for (int i = 0; i < pair_rows; i += 4)
                Element<T>::look(looks_at_each ? range : all, uint4{both[i], both[i + 1], both[i + 2], both[i + 3]});
            if (!looks_at_each) return all;
            Element<T>::settle(range);
            all.largest = max(all.largest, range.largest);
            all.smallest_less_one = min(all.smallest_less_one, range.smallest_less_one);
            return range;
        };
        Range settled = load_and_look(there ? input.n : 0);
        if (!looks_at_each) Element<T>::settle(settled);
        const Exponents a = exponents_between<T>(settled.largest, settled.smallest_less_one);
        const bool minus_zero =
            Walk::counts_minus_zeros && ((both[0] & 0xffffu) == 0x8000u || both[0] >> 16 == 0x8000u);
        const bool held = there && a.finite() && !minus_zero && bins[0].move_to(a, a, pair_room_above);
        if (!any_of_warp(held)) return false;
        bins[1].set_window(bins[0].window());
#pragma unroll 1
        for (p += begin * step; begin < end; begin += pair_rows, p += pair_rows * step) {
            const Range range = load_and_look(held ? end - begin : 0);
            const auto ways = Walk::ways_of(bins[0], range, held);
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const std::uint32_t halves = c == 0 ? 0x5410 : 0x7632;
                bins[c].reserve_own(pair_rows);
#pragma unroll
                for (int j = 0; j < pair_rows; j += 8) {
                    const uint4 v{
                        __byte_perm(both[j], both[j + 1], halves), __byte_perm(both[j + 2], both[j + 3], halves),
                        __byte_perm(both[j + 4], both[j + 5], halves), __byte_perm(both[j + 6], both[j + 7], halves)};
                    Walk::add_part(bins[c], 0, v, v, ways);
                }
            }
        }
        bins[0].drain_own();
        bins[1].drain_own();
        if (!looks_at_each) Element<T>::settle(all);
        return held && bins[0].holds(all, all);
    }

    /// Needs the kernel that is launched next no result of this one? Then it may begin earlier.
    static constexpr bool next_is_apart = false;
    static constexpr int blocks =
        Input::states > 1 || Input::has_errors ? policy::exact_columns_of_more : policy::exact_columns;
    /// Neighbouring columns of a thread: the larger number where takes_most() says so.
    static constexpr int maximum_columns = can_pair ? 2 : 1, minimum_columns = 1;
    [[nodiscard]] static bool takes_most(const Input& input, std::uint64_t groups, std::uint64_t stride) {
        return stride == 1 && groups % 2 == 0 && input.step % 2 == 0 && Input::template is_aligned<4>(input.x);
    }
    /// Is the sum of column number c of a thread wanted, and where does the result of a group go?
    [[nodiscard]] static __device__ __forceinline__ constexpr bool wants(const Input&, int) {
        return true;
    }
    [[nodiscard]] static __device__ __forceinline__ Finish finish_of(const Input&, const Finish& all,
                                                                     std::uint64_t group) {
        return all.moved(group);
    }
    /// Their sums.
    template <int Columns>
    using BinsOfColumns = std::conditional_t<Columns == 1, BinsOf, PairBins>;
    template <int Columns>
    static __device__ __forceinline__ bool add_up_columns(const Input& input, const Parts::Place& at,
                                                          BinsOfColumns<Columns> (&bins)[Columns]) {
        if constexpr (Columns == 1)
            return at.there && add_up(input, at.begin, at.end, bins[0]);
        else
            return add_up_pair(input, at.begin, at.end, at.there, bins);
    }
};

template <class Input>
using SumOf = ThreadSum<typename Input::Type, typename Input::MapType>;

/// A part of a column by its thread in a window that is made for all of it, where the quicker one
/// did not hold it: for states that have the limbs of sums from number `First` on.
template <class T, class Map, int First>
struct WideSum {
    using Input = Terms<T, Map>;
    using Window = GroupWindow<Map::linear>;
    using BinsOf = TermBins<T, Map, Window>;
    static constexpr int counters = First + LongOf<Input::states>::counters;
    static_assert(policy::longest_exact_part * Map::parts <= Window::most_held);
    Word sum[BinsOf::count];
    int top;

    /// In fewer bins where these are enough, as they take less time.
    __device__ __forceinline__ bool add_up(const Input& input, std::uint64_t begin, std::uint64_t end) {
        using Of = ThreadSum<T, Map>;
        TermBins<T, Map, GroupWindow<true>> bins(nullptr);
        bool held = false, kept = false;
        if constexpr (Map::linear) {
            held = Of::template add_up<true>(input, begin, end, bins);
        } else {
            held =
                Of::template add_up<true>(input, begin, end, bins, [&](const auto& x, const auto& y, const auto& add) {
                    BinsOf more(nullptr);
                    if (!more.move_to(x, y, 0) || !add(more)) return false;
                    keep(more);
                    return kept = true;
                });
        }
        if (!kept) keep(bins);
        return held;
    }
    template <class B>
    __device__ __forceinline__ void keep(B& bins) {
        constexpr int there = B::has_errors ? B::count / 2 : B::count;
        for (Word& s : sum)
            s = 0;
#pragma unroll
        for (int k = 0; k < B::count; ++k)
            sum[k < there ? k : k - there + Window::bins] = bins.own_sum(k);
        top = bins.top;
    }
    /// Where it is the sum of all n elements of a group.
    __device__ __forceinline__ void round(std::uint64_t n, const Finish& finish) const {
        BinSums<BinsOf> all;
#pragma unroll
        for (int k = 0; k < BinsOf::count; ++k)
            all.set(k, sum[k]);
        all.place = top;
        round_sums<BinsOf>(all, n, finish);
    }
    /// add(words, value) for each limb.
    template <class Add>
    __device__ __forceinline__ void deposit(Word* words, const Add& add) const {
#pragma unroll
        for (int k = 0; k < BinsOf::count; ++k) {
            const auto d = acc::exact::split(sum[k], top + BinsOf::relative_unit(k));
            for (int i = 0; i < 3 && d.first + i < acc::exact::limbs; ++i)
                if (d.limb[i] != 0) add(words + counters + d.first + i, d.limb[i]);
        }
    }
};
/// The same of what an input adds up: nothing where its elements are not in memory.
template <class Input, class T = typename Input::Type, class Map = typename Input::MapType>
struct WideSums {
    using Sum = WideSum<T, Map, 0>;
    Sum of;
    static constexpr bool there = Input::in_memory;

    __device__ __forceinline__ bool add_up(const Input& input, std::uint64_t begin, std::uint64_t end) {
        return of.add_up(input, begin, end);
    }
    template <class Add>
    __device__ __forceinline__ void deposit(Word* words, const Add& add) const {
        of.deposit(words, add);
    }
};
template <class Input, class T>
struct WideSums<Input, T, Moments> {
    WideSum<T, transforms::Element, 0> elements;
    WideSum<T, transforms::Square, acc::exact::words> squares;
    static constexpr bool there = true;

    __device__ __forceinline__ bool add_up(const Input& input, std::uint64_t begin, std::uint64_t end) {
        return elements.add_up({input.x, input.y, input.n, input.step}, begin, end) &&
               squares.add_up({input.x, input.y, input.n, input.step}, begin, end);
    }
    template <class Add>
    __device__ __forceinline__ void deposit(Word* words, const Add& add) const {
        elements.deposit(words, add);
        squares.deposit(words, add);
    }
};

} // namespace detreduce::cuda::exact
