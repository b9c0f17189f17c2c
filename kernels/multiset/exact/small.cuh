// `exact` of flat inputs, and of few rows, that are so short that starting and finishing is most of
// the time. A warp adds one tile, in a window that depends on nothing but what its block has; the
// block leaves the sums of its warps' bins, and a second kernel of one block joins and rounds them;
// a block alone rounds its own. Where additions of doubles round nothing, there are no bins. No
// state has to be zero before, and nobody adds to one at the same time as others: that took longer
// than the additions. Windows stand on a grid, so that nearly always those of all blocks are the
// same. Blocks that no window holds leave the words of a state instead.
#pragma once

#include <climits>

#include "platform/grid.cuh"
#include "multiset/exact/bin_sums.cuh"
#include "multiset/exact/fixed.cuh"
#include "multiset/exact/terms.cuh"

namespace detreduce::cuda::exact {

inline constexpr int small_threads = exact_small_threads, small_warps = small_threads / warp_size;

/// In place of the exponent where a window ends: there are only zeros, whose sum is the same in
/// any; the sum is in words.
inline constexpr int any_top = INT_MIN, left_in_words = INT_MAX;

/// The sums that a window W has, of values and, of products of doubles, of their errors.
template <class W, bool OfDoubles, bool Errors>
struct SmallShape {
    using Place = int; ///< top
    static constexpr bool of_short_formats = W::adds == 64;
    static constexpr int bins = W::bins, count = (Errors ? 2 : 1) * W::bins;
    static constexpr int states = Errors ? acc::exact::product_states : 1, words = states * acc::exact::words;
    static constexpr int counters = LongOf<states>::counters;

    /// Words that may be other than zero. A block's sum of products of floats is below 2^288, and
    /// the carry of a negative one is −1 in the limb above.
    static constexpr int first_limb = OfDoubles ? 0 : acc::exact::split(1, 2 * fp::Format<float>::min_exponent).first,
                         last_limb = OfDoubles ? acc::exact::limbs - 1
                                               : acc::exact::split(1, 2 * fp::Format<float>::max_exponent + 34).first,
                         used_limbs = last_limb + 1 - first_limb, used_words = words - acc::exact::limbs + used_limbs;
    [[nodiscard]] static __device__ __forceinline__ int used_word(int i) {
        return i < used_limbs ? i + first_limb : i - used_limbs + acc::exact::limbs;
    }
    /// Of sum number k, those of the errors after those of the values, where top is 0.
    [[nodiscard]] static __host__ __device__ constexpr int relative_unit(int k) {
        return k < bins ? W::unit(0, k) : W::unit(1 - fp::Format<double>::precision, k - bins);
    }
    static constexpr int last_unit = W::unit(Errors ? 1 - fp::Format<double>::precision : 0, bins - 1);
};

/// `V`: loads of a thread.
template <class T, class Map, int V = policy::exact_small_loads>
struct SmallOf {
    static constexpr int vectors = V;
    using Input = Terms<T, Map, vectors>;
    using Mine = typename Input::Mine;
    /// Most inputs take two of these bins, which hold 84 binades of bf16, 70 of floats and 41 of
    /// doubles; all of them 117 of floats, 135 of doubles, and 92 to 135 of products.
    static constexpr int bins = fp::is_f64<T> ? 4 : fp::is_narrow<T> && Map::linear ? 2 : 3;
    template <int Bins>
    using WindowOf = spec::ExactWindow<double, Bins, fp::is_narrow<T> ? 6 : 5>;
    using Window = WindowOf<bins>;
    using Shape = SmallShape<Window, fp::is_f64<T>, Input::has_errors>;
    using BinsOf = TermBins<T, Map, Window>;
    using Walk = TermWalk<T, Map, vectors>;
    using Memory = WarpMemory<Input>;
    static_assert(Input::each <= Window::adds);
    static constexpr bool may_be_plain = exact::may_be_plain<T, Map>;

    /// Do the first bins of a window hold the terms of elements between such exponents?
    template <int Bins>
    [[nodiscard]] static __device__ __forceinline__ bool holds(int top, int high, int low) {
        using W = WindowOf<Bins>;
        using B = TermBins<T, Map, W>;
        const int minimum = max(top - W::span + significant_bits<T, Map> - 1, B::minimum_term);
        return high <= top && top >= B::lowest_top && top <= W::highest_top && low >= minimum;
    }
};

template <class S>
using SmallSum = Fixed<(S::relative_unit(0) - S::last_unit + 72) / 64 + 1>;

/// What the bins of a window hold together, in units of 2^(top + last_unit).
template <class S, int K = 0>
__device__ __forceinline__ void add_sums(SmallSum<S>& sum, const __int128 (&sums)[S::count]) {
    sum.template add<S::relative_unit(K) - S::last_unit>(sums[K]);
    if constexpr (K + 1 < S::count) add_sums<S, K + 1>(sum, sums);
}

/// Rounds `sum`, in units of 2^unit; it is not of −0 alone.
template <int Limbs>
__device__ __forceinline__ void round_fixed(const Fixed<Limbs>& sum, int unit, std::uint64_t n, const Finish& finish) {
    acc::exact::Leading a{};
    if (!sum.is_zero()) a = sum.leading(unit);
    finish.store(acc::exact::Outcome::of(a), n);
}

/// Rounds what the bins of a window hold, as doubles where they are such. Of squares of floats they
/// seldom are.
template <class S>
__device__ __forceinline__ void round_window(const __int128 (&sums)[S::count], int top, std::uint64_t n,
                                             const Finish& finish) {
    Word words[S::count];
    bool are_words = S::of_short_formats || (finish.op != Op::nrm2 && finish.op != Op::sumsq);
#pragma unroll
    for (int k = 0; k < S::count; ++k) {
        words[k] = static_cast<Word>(sums[k]);
        are_words = are_words && words[k] == sums[k];
    }
    if (are_words && round_as_doubles<S, true>(words, top, n, finish)) return;
    SmallSum<S> sum;
    add_sums<S>(sum, sums);
    round_fixed(sum, top + S::last_unit, n, finish);
}
/// Rounds what the bins of S hold, of which thread k of the warp has sum number k. Not inlined:
/// there are few, whatever is added up.
template <class S>
__device__ __noinline__ void round_sums_of_warp(Word mine, int top, std::uint64_t n, Finish finish) {
    __int128 all[S::count];
#pragma unroll
    for (int k = 0; k < S::count; ++k)
        all[k] = shuffle_from(mine, k);
    if (threadIdx.x % warp_size == 0) round_window<S>(all, top, n, finish);
}

/// The sum over so many neighbouring threads, by additions of doubles; all of them have it.
template <int Threads>
[[nodiscard]] __device__ __forceinline__ double plain_sum_of(double sum) {
#pragma unroll
    for (int other = Threads / 2; other > 0; other /= 2)
        sum += shuffle_xor(sum, other);
    return sum;
}
/// Words of a window whose total is `sum`: thread k of the first warp has sum number k.
template <class S>
[[nodiscard]] __device__ __forceinline__ Word plain_word(double sum, int top) {
    Word mine = 0;
#pragma unroll
    for (int k = 0; k < S::bins; ++k) {
        const int unit = top + S::relative_unit(k);
        const double units = rint(sum * power_of_two(-unit));
        sum -= units * power_of_two(unit);
        if (threadIdx.x == k) mine = static_cast<Word>(units);
    }
    return mine;
}

/// What blocks leave: sum number k of block b, and the top of its window.
template <class S>
struct SmallParts {
    Word* words;
    int blocks;

    [[nodiscard]] __device__ __forceinline__ Word& sum(int k, int b) const { return words[k * blocks + b]; }
    [[nodiscard]] __device__ __forceinline__ Word& top(int b) const { return sum(S::count, b); }
};

/// Exponents of a warp's elements, or of a block's: as in Exponents, of both inputs. Zeros alone
/// have none.
struct SmallRange {
    int low_x = INT_MAX, high_x = INT_MIN, low_y = INT_MAX, high_y = INT_MIN;

    [[nodiscard]] __device__ __forceinline__ bool finite() const { return max(high_x, high_y) != INT_MAX; }
    [[nodiscard]] __device__ __forceinline__ bool empty() const { return low_x == INT_MAX; }
};

/// A window for the terms of a block: where it ends, at a multiple of 16 or 4, if one does, and
/// whether two bins will do.
struct SmallPlace {
    int top;
    bool two_bins;

    template <class T, class Map>
    [[nodiscard]] static __device__ __forceinline__ SmallPlace of(const SmallRange& r) {
        using Of = SmallOf<T, Map>;
        if (r.empty()) return {any_top, false};
        if (!r.finite()) return {left_in_words, false};
        const int high = (Map::linear ? r.high_x : r.high_x + r.high_y) + Of::BinsOf::factor_bits,
                  low = Map::linear ? r.low_x : r.low_x + r.low_y;
#pragma unroll
        for (const int step : {16, 4, 1}) {
            const int top = max((high + step - 1) & -step, Of::BinsOf::lowest_top);
            if (Of::template holds<Of::bins>(top, high, low)) return {top, Of::template holds<2>(top, high, low)};
        }
        return {left_in_words, false};
    }
};

/// A warp's tile, in registers.
template <class Of>
struct SmallTile {
    using T = typename Of::Input::Type;
    using Map = typename Of::Input::MapType;
    using BinsOf = typename Of::BinsOf;
    using Walk = typename Of::Walk;
    typename Of::Mine x, y;
    bool there; ///< has the thread an element?

    __device__ __forceinline__ SmallTile(const typename Of::Input& input, std::uint64_t at,
                                         typename Of::Memory& memory) {
        there = input.has_first(at);
        if (at < input.full()) {
            y = x = input.load(input.x, at);
            if constexpr (Map::inputs == 2) y = input.load(input.y, at);
        } else {
            y = x = input.load_rest(input.x, memory.copy[0]);
            if constexpr (Map::inputs == 2) y = input.load_rest(input.y, memory.copy[Of::Memory::other]);
        }
    }
    [[nodiscard]] __device__ __forceinline__ SmallRange range() const {
        Range range_x, range_y;
        Walk::template look<BinsOf>(range_x, range_y, x, y);
        const Exponents a = exponents_of<T>(range_x), b = BinsOf::shared_room ? a : exponents_of<T>(range_y);
        if (!a.finite() || !b.finite()) return {0, INT_MAX, 0, INT_MAX};
        if (a.low == a.high || b.low == b.high) return {};
        return {a.low, a.high, b.low, b.high};
    }
    /// Could all of the thread's terms be −0? Where that is so for no thread but those that have
    /// none, neither is the sum.
    [[nodiscard]] __device__ __forceinline__ bool may_be_minus_zero() const {
        return Walk::counts_minus_zeros && (!there || Walk::is_minus_zero(x.v[0], y.v[0]));
    }
    /// NaN and infinities among the terms.
    __device__ __forceinline__ void count_specials(Word* counters) const {
        Counts counts;
#pragma unroll
        for (int i = 0; i < Of::vectors; ++i) {
            uint4 v = seen<T, Map::transform != Transform::element>(x.v[i]); // a square has no sign, either
            counts.take_specials<T>(v);
        }
        counts.add_to(counters);
    }
    /// By doubles alone: the warp's sum, if none is rounded; all threads have it.
    [[nodiscard]] __device__ __forceinline__ double plain_sum() const {
        double sum[Of::vectors] = {};
#pragma unroll
        for (int i = 0; i < Of::vectors; ++i)
            Walk::template each<double>(x.v[i], x.v[i], [&](double a, double b) { sum[i] += Map::part(0, a, b).a; });
#pragma unroll
        for (int i = 1; i < Of::vectors; ++i)
            sum[0] += sum[i];
        return plain_sum_of<warp_size>(sum[0]);
    }
    /// The sums of the bins; all threads have them.
    __device__ __forceinline__ void add_up(const SmallPlace& place, Word (&sums)[Of::Shape::count]) const {
        if (place.two_bins) {
            add_up_in<2>(place.top, sums);
        } else if constexpr (Of::bins > 2) {
            add_up_in<Of::bins>(place.top, sums);
        }
    }

  private:
    template <int Bins>
    __device__ __forceinline__ void add_up_in(int top, Word (&sums)[Of::Shape::count]) const {
        using B = TermBins<T, Map, typename Of::template WindowOf<Bins>>;
        B bins(nullptr);
        bins.top = top;
        bins.reset();
#pragma unroll
        for (int k = 0; k < B::parts; ++k) {
            bins.reserve_own(Of::Input::each);
#pragma unroll
            for (int i = 0; i < Of::vectors; ++i)
                Walk::add_part(bins, k, x.v[i], y.v[i]);
        }
        bins.drain_own();
#pragma unroll
        for (int k = 0; k < B::count; ++k) {
            const int place = k < Bins ? k : k - Bins + Of::bins;
            sums[place] = warp_sum(bins.own_sum(k));
        }
    }
};

/// The words of a block's warps, for what no window holds. Where not all elements of the only input
/// are `finite`, NaN and infinities are counted and no number is added, as none changes the result.
/// Not inlined: it is seldom run.
template <class Of, int Warps>
__device__ __noinline__ void leave_words(const typename Of::Input& input, typename Of::Memory* memory, std::uint64_t at,
                                         bool finite, Word* slot) {
    using Shape = typename Of::Shape;
    auto& own = memory[threadIdx.x / warp_size];
    warp_clear(own.words, Shape::words);
    if (at * Of::Input::tile < input.n) {
        const SmallTile<Of> tile(input, at, own);
        typename Of::Walk walk{input, own, at, 0};
        if (!finite && !Of::Input::binary) {
            tile.count_specials(walk.counters());
        } else {
            walk.add_otherwise(tile.x, tile.y);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < Shape::words; i += Warps * warp_size) {
        Word sum = 0;
        for (int w = 0; w < Warps; ++w)
            sum += carried_word(memory[w].words, i);
        slot[i] = sum;
    }
}

/// The range of a block, from those of its warps, which are all there. Each warp works it out for
/// itself.
template <int Warps>
[[nodiscard]] __device__ __forceinline__ SmallRange range_of_block(const SmallRange* ranges) {
    static_assert(warp_size % Warps == 0); // the ranges are those of a warp's threads, some of them twice
    SmallRange r = ranges[threadIdx.x % Warps];
    r.low_x = warp_min(r.low_x);
    r.high_x = warp_max(r.high_x);
    r.low_y = warp_min(r.low_y);
    r.high_y = warp_max(r.high_y);
    return r;
}

/// Blocks of so many warps on a multiprocessor.
template <class Map, int Warps>
inline constexpr int
    small_blocks = (Map::inputs == 2 ? policy::exact_small_of_two_inputs : policy::exact_small).blocks* small_warps
                   / Warps;

/// `value`, in the constant memory of parameters where it is not moved.
template <bool Moved, class Value, class Move>
[[nodiscard]] __device__ __forceinline__ decltype(auto) moved_if(const Value& value, const Move& move) {
    if constexpr (Moved) {
        return move();
    } else {
        return (value);
    }
}

/// One tile a warp. A block alone, which leaves nothing, finishes; it may have more warps. A block
/// whose elements span at most plain_binades (spec::plain_binades()) adds them up as doubles,
/// without bins. `Rows`: each block is alone with a row, `stride` elements behind the one before.
template <class T, class Map, int V = policy::exact_small_loads, int Warps = small_warps, bool Rows = false>
__global__ void __launch_bounds__(Warps* warp_size, small_blocks<Map, Warps>)
    small_kernel(const __grid_constant__ Terms<T, Map, V> all, Word* left, Word* slots,
                 const __grid_constant__ Finish first, int plain_binades, std::uint64_t stride) {
    using Of = SmallOf<T, Map, V>;
    using Shape = typename Of::Shape;
    const std::uint32_t row = Rows ? blockIdx.x : 0, block = Rows ? 0 : blockIdx.x;
    decltype(auto) input = moved_if<Rows>(all, [&] { return all.part(row * stride, all.n); });
    decltype(auto) finish = moved_if<Rows>(first, [&] { return first.moved(row); });
    const SmallParts<Shape> parts{left, static_cast<int>(gridDim.x)};
    __shared__ typename Of::Memory memory[Warps];
    __shared__ Word sums[Warps][Shape::count];
    alignas(16) __shared__ SmallRange ranges[Warps];
    let_next_kernel_start();
    const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::uint64_t at = std::uint64_t{block} * Warps + warp; // behind the end its elements are zeros
    const SmallTile<Of> tile(input, at < input.full() ? at : input.full(), memory[warp]);
    const bool empty = at * Of::Input::tile >= input.n;
    const SmallRange mine = empty ? SmallRange{} : tile.range();
    if (lane == 0) ranges[warp] = mine;
    const bool alone = Rows || left == nullptr;
    __shared__ double plain[Of::may_be_plain ? Warps : 1];
    if constexpr (Of::may_be_plain) {
        const double sum = empty ? 0.0 : tile.plain_sum();
        if (lane == 0) plain[warp] = sum;
    }
    const bool minus_zero = __syncthreads_and(empty || tile.may_be_minus_zero());
    const SmallRange range = range_of_block<Warps>(ranges);
    SmallPlace place = SmallPlace::of<T, Map>(range);
    if (minus_zero) place.top = left_in_words;
    if constexpr (Of::may_be_plain) {
        if (place.top != left_in_words && place.top != any_top && range.high_x - range.low_x <= plain_binades) {
            if (warp == 0) {
                const double sum = plain_sum_of<Warps>(plain[lane % Warps]);
                if (alone && finish.finalize == Finalize::sum) {
                    if (lane == 0) store_sum(finish.out, finish.output, sum, 0);
                } else {
                    const Word mine = plain_word<Shape>(sum, place.top);
                    if (alone) {
                        round_sums_of_warp<Shape>(mine, place.top, input.n, finish);
                    } else if (lane <= Shape::count) {
                        parts.sum(lane, block) = lane < Shape::count ? mine : place.top;
                    }
                }
            }
            if (!alone) wait_for_previous_kernel(); // as below
            return;
        }
    }
    Word own[Shape::count] = {};
    if (place.top == left_in_words) {
        Word* const total = reinterpret_cast<Word*>(memory[0].copy); // the tiles' copies, which nobody reads any more
        leave_words<Of, Warps>(input, memory, at, range.finite(),
                               alone ? total : slots + std::uint64_t{block} * Shape::words);
        if (alone) {
            if (threadIdx.x == Shape::counters + acc::exact::elements) total[threadIdx.x] = static_cast<Word>(input.n);
            __syncthreads();
            auto& room = reinterpret_cast<RoundRoom<Shape::states>&>(memory[1].copy);
            static_assert(sizeof room <= sizeof memory[1].copy && Shape::words * sizeof(Word) <= sizeof memory[0].copy);
            if (warp == 0) round_by_warp<Shape::states>(total, room, finish);
            return;
        }
    } else if (place.top != any_top && !empty) {
        tile.add_up(place, own);
    }
    if (lane == 0) {
#pragma unroll
        for (int k = 0; k < Shape::count; ++k)
            sums[warp][k] = own[k];
    }
    __syncthreads();
    Word sum = 0;
    if (threadIdx.x < Shape::count) {
#pragma unroll
        for (int w = 0; w < Warps; ++w)
            sum += sums[w][threadIdx.x];
        if (!alone) parts.sum(threadIdx.x, block) = sum;
    }
    if (alone) {
        if (warp == 0) round_sums_of_warp<Shape>(sum, place.top == any_top ? 0 : place.top, input.n, finish);
        return;
    }
    if (threadIdx.x == Warps * warp_size - 1) parts.top(block) = place.top;
    // it may have been adding the elements while this one added their squares: the next one needs
    // both
    wait_for_previous_kernel();
}

} // namespace detreduce::cuda::exact
