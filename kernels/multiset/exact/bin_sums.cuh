// Sums of bins, and their rounding without a state.
#pragma once

#include "multiset/exact/round.cuh"
#include "multiset/exact/terms.cuh"
#include "rounded.cuh"

namespace detreduce::cuda::exact {

/// What the bins of a window hold of a group: of the values, and of what products of doubles lost.
/// Each sum is low + 2^32·high, so that sums of many parts can be added up.
template <class BinsOf>
struct BinSums {
    static constexpr int count = BinsOf::count;
    Word low[count], high[count];
    typename BinsOf::Place place;

    __device__ __forceinline__ void set(int k, Word sum) {
        low[k] = sum & 0xffffffff;
        high[k] = sum >> 32;
    }
    __device__ __forceinline__ void add(int k, Word sum) {
        low[k] += sum & 0xffffffff;
        high[k] += sum >> 32;
    }
};

/// Sums of TermBins as limbs. The first is in units of the finest bin's, or, if OnGrid, of the
/// multiple of 32 below that; else it is known at compile time where the others are.
template <class BinsOf, bool OnGrid>
struct SumLimbs {
    static constexpr int lowest = BinsOf::relative_unit(BinsOf::count - 1), above = BinsOf::relative_unit(0) - lowest,
                         count = (above + 96) / 32 + (OnGrid ? 3 : 2);
    Word limb[count] = {};
    int unit;

    __device__ __forceinline__ SumLimbs(const Word* low, const Word* high, int top) : unit(top + lowest) {
        const int shift = OnGrid ? unit & 31 : 0;
        unit -= shift;
        constexpr int halves = 2 * BinsOf::count;
        Word half[halves];
#pragma unroll
        for (int k = 0; k < halves; ++k)
            half[k] = k % 2 != 0 ? high[k / 2] : low[k / 2];
#pragma unroll(OnGrid ? 1 : halves)
        for (int k = 0; k < halves; ++k) {
            const int at = BinsOf::relative_unit(k / 2) - lowest + 32 * (k % 2) + shift;
            const acc::exact::Deposit d = acc::exact::split(half[0], at + acc::exact::lowest_exponent);
#pragma unroll
            for (int i = 0; i < 3; ++i)
                limb[d.first + i] += d.limb[i];
#pragma unroll
            for (int i = 0; i + 1 < halves; ++i)
                half[i] = half[i + 1];
        }
    }
    [[nodiscard]] __device__ __forceinline__ acc::exact::Long number() const {
        return {limb, unit, nullptr};
    }
};

/// How many of the bins hold sums of fewer than 2^30 terms, none larger than the window, that are
/// less than 2^127 in units of the finest of them: those that a third one seldom adds to.
template <class BinsOf>
inline constexpr int bins_of_128_bits = BinsOf::has_errors || BinsOf::count > 3 ? 0
                                        : BinsOf::span <= 95                    ? BinsOf::count
                                                                                : 2;

/// What these bins hold, in registers, while limbs are in memory.
template <class BinsOf>
[[nodiscard]] __device__ __forceinline__ acc::exact::Leading leading_of(const BinSums<BinsOf>& sums) {
    constexpr int count = bins_of_128_bits<BinsOf>, lowest = BinsOf::relative_unit(count - 1);
    __int128 total = 0;
    for (int k = 0; k < count; ++k)
        total += ((static_cast<__int128>(sums.high[k]) << 32) + sums.low[k]) << (BinsOf::relative_unit(k) - lowest);
    return acc::exact::leading(total, sums.place + lowest);
}

/// Rounds high + low to where results go. Not inlined, nor is the next, as they are there for each
/// dtype of results.
static __device__ __noinline__ void store_sum(void* out, DType output, double high, double low) {
    const acc::Finished sum{high + low, low == 0 ? high : fp::sum_rounded_to_odd(high, low)};
    acc::store_as(out, output, [&](auto t) { return rounded_to<decltype(t)>(sum); });
}
/// The same of the mean of n elements, or of the root, where rounds_once().
static __device__ __noinline__ void store_ended(void* out, DType output, double high, double low, Finalize finalize,
                                                std::uint64_t n) {
    const double s = low == 0 ? high : fp::sum_rounded_to_odd(high, low),
                 ended = finalize == Finalize::mean ? s / static_cast<double>(n) : fp::square_root(s);
    const acc::Finished result{ended, acc::finished({s, 0.0}, finalize, n).odd};
    acc::store_as(out, output, [&](auto t) { return rounded_to<decltype(t)>(result); });
}

/// Does store_ended() give the finalize of high + low, rounded once? Where low is 0 it does: a
/// quotient of doubles, and the root of one, are. A sum s of two doubles is rounded to odd first.
/// That changes nothing where the numbers at which rounding to a format changes, times n, or
/// squared, are doubles whose last bit is 0: none of them lies between s and what it was rounded
/// to. So it is of f32 and shorter formats.
[[nodiscard]] __device__ __forceinline__ bool rounds_once(DType output, Finalize finalize, double low,
                                                          std::uint64_t n) {
    constexpr std::uint64_t most = std::uint64_t{1} << 27; // 25 bits, of f32 and its ties, and 27 are 52
    return finalize == Finalize::sum || low == 0 || (output != DType::f64 && n <= most);
}

/// Writes the finalize of high + low, of n elements; false where it may not be rounded once.
[[nodiscard]] __device__ __forceinline__ bool store_doubles(void* out, DType output, double high, double low,
                                                            Finalize finalize, std::uint64_t n) {
    if (!rounds_once(output, finalize, low, n)) return false;
    if (finalize == Finalize::sum) {
        store_sum(out, output, high, low);
    } else {
        store_ended(out, output, high, low, finalize, n);
    }
    return true;
}

/// Rounds what one or two bins hold if that takes no long numbers, and there is nothing in a third:
/// for sums, and for means of 2^k elements, when what each bin holds is surely a double. Where
/// there is one result (`OfAll`), when it is one, and for other means, and roots, where
/// rounds_once(). Else false.
template <class BinsOf, bool OfAll = false>
[[nodiscard]] __device__ __forceinline__ bool round_as_doubles(const Word (&sums)[BinsOf::count],
                                                               const typename BinsOf::Place& place, std::uint64_t n,
                                                               const Finish& finish) {
    if constexpr (BinsOf::count <= 3 && std::is_same_v<typename BinsOf::Place, int>) {
        constexpr int last = BinsOf::count > 1 ? 1 : 0, minimum = -1022, maximum = 1023;
        if (finish.state) return false;
        const bool shifts = finish.finalize == Finalize::mean && (n & (n - 1)) == 0;
        const Finalize finalize = shifts ? Finalize::sum : finish.finalize;
        if (!OfAll && finalize != Finalize::sum) return false;
        const int down = shifts ? 63 - __clzll(static_cast<long long>(n)) : 0, unit = place - down,
                  highest = unit + BinsOf::relative_unit(0), lowest = unit + BinsOf::relative_unit(last);
        bool fits = lowest >= minimum && highest <= maximum - 64 && (BinsOf::count < 3 || sums[last + 1] == 0);
        double part[2] = {0, 0};
        for (int k = 0; k <= last; ++k) {
            constexpr std::int64_t most = std::int64_t{1} << 53;
            const auto sum = static_cast<double>(sums[k]);
            fits = fits &&
                   (OfAll ? sum < 0x1p63 && static_cast<Word>(sum) == sums[k] : sums[k] <= most && sums[k] >= -most);
            part[k] = sum * power_of_two(unit + BinsOf::relative_unit(k));
        }
        return fits && store_doubles(finish.out, finish.output, part[0], part[1], finalize, n);
    } else {
        return false;
    }
}

/// Sums of bins as the limbs of a state, and what it counts: n finite elements, not all of them −0.
template <int Limbs, class Sums>
__device__ __forceinline__ void save_limbs(const Sums& sums, int lowest, std::uint64_t n, Word* to) {
    using namespace acc::exact;
    const int first = (sums.unit - lowest) / 32; // both are multiples of 32
    Word carry = 0;
    bool seen = false;
#pragma unroll 1
    for (int k = min(first, 0); k < Limbs; ++k) {
        const int at = k - first;
        const Word limb = carry + (at >= 0 && at < Sums::count ? sums.limb[at] : 0);
        carry = k + 1 < Limbs ? limb >> 32 : 0;
        if (k < 0) continue;
        to[k] = limb - carry * (Word{1} << 32);
        seen |= to[k] != 0;
    }
    for (int k = 0; k < counters; ++k)
        to[Limbs + k] = k == elements - limbs ? static_cast<Word>(n) : k == weight - limbs ? seen : 0;
}
/// The same of what bins hold, none of which was NaN or infinite.
template <class BinsOf>
__device__ __noinline__ void save_sums(BinSums<BinsOf> sums, std::uint64_t n, Word* to) {
    using L = LongOf<1>;
    if constexpr (std::is_same_v<typename BinsOf::Place, int>) {
        using Of = LongOf<BinsOf::has_errors ? acc::exact::product_states : 1>;
        save_limbs<Of::limbs>(SumLimbs<BinsOf, true>(sums.low, sums.high, sums.place), Of::lowest, n, to);
    } else {
        using Sums = typename BinsOf::Sums;
        using Squares = typename BinsOf::Squares;
        using Of = LongOf<Squares::has_errors ? acc::exact::product_states : 1>;
        save_limbs<L::limbs>(SumLimbs<Sums, true>(sums.low, sums.high, sums.place.sums), L::lowest, n, to);
        save_limbs<Of::limbs>(
            SumLimbs<Squares, true>(sums.low + Sums::count, sums.high + Sums::count, sums.place.squares), Of::lowest, n,
            to + acc::exact::words);
    }
}

/// Writes what `to` wants of n elements; false if the two sums do not say it. `squares` is Σx² ·
/// 2^-scale, `sum` is Σx · 2^(-scale / 2). Not inlined, as it is the same for all dtypes.
static __device__ __noinline__ bool store_moments(acc::exact::Near sum, acc::exact::Near squares, int scale,
                                                  std::uint64_t n, Finish to) {
    acc::exact::MeanAndVariance m;
    if (!acc::exact::settles(sum, squares, scale, to.moments(n), m)) return false;
    to.store(m);
    return true;
}
/// What bins hold, times 2^-scale: low and high words as in BinSums.
template <class BinsOf>
[[nodiscard]] __device__ __forceinline__ acc::exact::Near near_of_bins(const Word* low, const Word* high, int top,
                                                                       int scale) {
    static_assert(BinsOf::count <= 8); // of whose halves no more than 2^-98 is lost
    double sum = 0, rest = 0, all = 0;
    bool known = true;
#pragma unroll
    for (int k = 0; k < BinsOf::count; ++k) {
        const int unit = top + BinsOf::relative_unit(k) - scale;
        known = known && unit > -900 && unit < 900;
        const double scaled = power_of_two(known ? unit : 0);
#pragma unroll
        for (int half = 1; half >= 0; --half) {
            const Word word = half != 0 ? high[k] : low[k];
            const auto number = static_cast<double>(word), part = number * (half != 0 ? scaled * 0x1p32 : scaled);
            known = known && static_cast<Word>(number) == word;
            const auto s = fp::two_sum(sum, part);
            sum = s.value;
            rest += s.error;
            all += fabs(part);
        }
    }
    return known ? acc::exact::Near{sum, rest, 0x1p-98 * all} : acc::exact::Near::unknown();
}
/// The same of Σx and Σx² in such bins.
template <class Sums, class Squares>
[[nodiscard]] __device__ __forceinline__ bool store_moments(const Word* low, const Word* high, int top,
                                                            const Word* squares_low, const Word* squares_high,
                                                            int squares_top, std::uint64_t n, const Finish& to) {
    const int scale = squares_top & ~1;
    return store_moments(near_of_bins<Sums>(low, high, top, scale / 2),
                         near_of_bins<Squares>(squares_low, squares_high, squares_top, scale), scale, n, to);
}

/// Rounds a group of n elements from the sums of its bins, or saves its state. None of them was NaN
/// or infinite, nor were all −0. Not inlined, and by value, as what a call has the address of is
/// kept in memory.
template <class BinsOf>
__device__ __noinline__ void round_sums(BinSums<BinsOf> sums, std::uint64_t n, Finish finish) {
    using namespace acc::exact;
    if (finish.state) return save_sums<BinsOf>(sums, n, static_cast<Word*>(finish.out));
    if constexpr (std::is_same_v<typename BinsOf::Place, int>) {
        Leading number;
        constexpr int quick = bins_of_128_bits<BinsOf>, next = quick % BinsOf::count;
        const bool in_these = quick == BinsOf::count || (sums.low[next] | sums.high[next]) == 0;
        if (quick > 0 && in_these && n < std::uint64_t{1} << 28) {
            number = leading_of(sums);
        } else {
            const SumLimbs<BinsOf, false> limbs(sums.low, sums.high, sums.place);
            Scratch<limbs.count> scratch;
            number = leading(limbs.number(), 0, limbs.count, scratch);
        }
        finish.store(Outcome::of(number), n);
    } else {
        using Sums = typename BinsOf::Sums;
        using Squares = typename BinsOf::Squares;
        if (store_moments<Sums, Squares>(sums.low, sums.high, sums.place.sums, sums.low + Sums::count,
                                         sums.high + Sums::count, sums.place.squares, n, finish))
            return;
        const SumLimbs<Sums, true> sum(sums.low, sums.high, sums.place.sums);
        const SumLimbs<Squares, true> squares(sums.low + Sums::count, sums.high + Sums::count, sums.place.squares);
        // Both windows hold the elements: twice the unit of the one is less than 8 limbs from that
        // of the other.
        VarianceRoom<sum.count, squares.count, 10> room;
        finish.store(mean_and_variance(sum.number(), {0, sum.count}, squares.number(), {0, squares.count},
                                       finish.moments(n), room));
    }
}

} // namespace detreduce::cuda::exact
