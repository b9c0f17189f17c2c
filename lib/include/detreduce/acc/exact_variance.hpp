// The variance by `exact` (lib/SPEC.md, section 12): n·Σx² − (Σx)² over n·(n − ddof), from the
// limbs of the two sums. The difference is a long number without any error; of it as many leading
// bits are kept as two divisions need to leave all that a root needs. Nearly always two doubles say
// the result (near.hpp). Plain functions over arrays of limbs, for host and device; nothing is
// allocated.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact_rounding.hpp>
#include <detreduce/acc/near.hpp>

namespace detreduce::acc::exact {

/// (limb₀·2^192 + … + limb₃ + s)·2^exponent with s = 0, or, if sticky, some number in (0, 1). The
/// top bit of limb₀ is set, or all is zero.
struct Wide {
    std::uint64_t limb[4];
    int exponent;
    bool sticky;

    /// One limb further on: the first one goes. So that loops over limbs need no array in memory.
    DETREDUCE_HD constexpr void shift_in(std::uint64_t last) {
        for (int i = 0; i < 3; ++i)
            limb[i] = limb[i + 1];
        limb[3] = last;
    }
};

/// The leading 256 bits of a magnitude.
[[nodiscard]] DETREDUCE_HD constexpr Wide leading_wide(const Magnitude& m) {
    Wide wide{};
    if (m.last == m.first) return wide;
    const int top = m.last - 1, lead = leading_zeros(std::uint64_t{m.limb[top]}) - 32;
    DETREDUCE_UNROLL(1)
    for (int k = top; k > top - 8; k -= 2) {
        const auto three = static_cast<unsigned __int128>(m.at(k) << 32 | m.at(k - 1)) << 32 | m.at(k - 2);
        wide.shift_in(static_cast<std::uint64_t>(three >> (32 - lead)));
    }
    wide.exponent = m.lowest + 32 * (top - 7) - lead;
    wide.sticky = (m.at(top - 8) << lead & 0xffffffffu) != 0 || m.any_below(top - 8);
    return wide;
}

/// Over count, 1 ≤ count ≤ 2^62. As many bits as the count has are lost at the end, where zeros
/// stand for them: what they were shows in `sticky` alone.
DETREDUCE_HD constexpr void divide(Wide& a, std::uint64_t count) {
    if (is_power_of_two(count)) {
        a.exponent -= 63 - leading_zeros(count);
        return;
    }
    const Divisor divisor(count);
    std::uint64_t rest = 0;
    DETREDUCE_UNROLL(1)
    for (int i = 0; i < 4; ++i)
        a.shift_in(divide_step(rest, a.limb[0], divisor));
    a.sticky = a.sticky || rest != 0;
    const int shift = a.limb[0] != 0 ? leading_zeros(a.limb[0]) : 0; // 0: zero
    if (shift == 0) return;
    for (int i = 0; i < 4; ++i)
        a.limb[i] = a.limb[i] << shift | (i < 3 ? a.limb[i + 1] >> (64 - shift) : 0);
    a.exponent -= shift;
}

/// Its leading 128 bits.
[[nodiscard]] DETREDUCE_HD constexpr Leading narrowed(const Wide& a) {
    return {false, static_cast<unsigned __int128>(a.limb[0]) << 64 | a.limb[1], a.exponent + 128,
            a.sticky || (a.limb[2] | a.limb[3]) != 0};
}

/// n·squares − sum², which is never below zero, into `room`: column by column, as on paper. n ≤
/// 2^62. Where limbs begin, in bits, must differ by a multiple of 32.
[[nodiscard]] DETREDUCE_HD Magnitude difference(const Magnitude& sum, const Magnitude& squares, std::uint64_t n,
                                                std::uint32_t* room) {
    const int lowest = 2 * sum.lowest < squares.lowest ? 2 * sum.lowest : squares.lowest;
    const int sum_at = (2 * sum.lowest - lowest) / 32, squares_at = (squares.lowest - lowest) / 32; // column of limb 0
    const int first_square = squares.first + squares_at, last_square = squares.last + squares_at + 2;
    const int first_sum = 2 * sum.first + sum_at, last_sum = 2 * sum.last + sum_at;
    const int first = first_square < first_sum ? first_square : first_sum;
    const int last = last_square > last_sum ? last_square : last_sum;
    const std::uint64_t low = n & 0xffffffffu, high = n >> 32;
    __int128 column = 0;
    DETREDUCE_UNROLL(1)
    for (int k = first; k < last; ++k) {
        column += static_cast<__int128>(low * squares.at(k - squares_at)) + high * squares.at(k - squares_at - 1);
        const int both = k - sum_at;    // i + j of the limbs whose products are in this column
        unsigned __int128 products = 0; // of i < j, which are there twice
        DETREDUCE_UNROLL(1)
        for (int i = both - sum.last + 1 > sum.first ? both - sum.last + 1 : sum.first; 2 * i < both; ++i)
            products += std::uint64_t{sum.limb[i]} * sum.limb[both - i];
        const std::uint64_t middle = both % 2 == 0 ? sum.at(both / 2) : 0;
        column -= static_cast<__int128>(2 * products + middle * middle);
        room[k] = static_cast<std::uint32_t>(column);
        column >>= 32; // rounds down, also below zero
    }
    int end = last;
    DETREDUCE_UNROLL(1)
    while (end > first && room[end - 1] == 0)
        --end;
    return {false, room, first, end, lowest};
}

/// What the variance is worked out in, of so many limbs of Σx and Σx², one of which begins up to
/// `Apart` limbs before the other does.
template <int SumLimbs = limbs, int SquareLimbs = product_limbs, int Apart = scale_limbs>
struct VarianceRoom {
    static constexpr int of_sum = 2 * Scratch<SumLimbs>::size, of_squares = Scratch<SquareLimbs>::size + 2;
    Scratch<SumLimbs> sum;
    Scratch<SquareLimbs> squares;
    std::uint32_t difference[Apart + (of_sum > of_squares ? of_sum : of_squares)];
};

/// Limbs first … last − 1 of a long number; the others are zero.
struct LimbRange {
    int first, last;
};

/// The leading bits of the variance, or of its root, of n finite elements, from the magnitudes of
/// Σx and Σx². Zero where they are all equal.
template <class Room>
[[nodiscard]] DETREDUCE_HD Leading variance(const Magnitude& s, const Magnitude& q, std::uint64_t n, std::uint64_t ddof,
                                            bool root, Room& room) {
    if (q.last == q.first) return {}; // only zeros, whose sums may begin anywhere
    Wide wide = leading_wide(difference(s, q, n, room.difference));
    DETREDUCE_UNROLL(1)
    for (int i = 0; i < 2; ++i)
        divide(wide, i == 0 ? n : n - ddof);
    const Leading leading = narrowed(wide);
    return root && leading.significand != 0 ? ended(leading, Finalize::root, 1) : leading;
}

/// Both of n elements. Null as sum.counters says that they are finite, and not all −0.
template <class Room>
[[nodiscard]] DETREDUCE_HD MeanAndVariance mean_and_variance(const Long& sum, LimbRange in_sum, const Long& squares,
                                                             LimbRange in_squares, const WantedMoments& wanted,
                                                             Room& room) {
    const Magnitude s = magnitude_of(sum, in_sum.first, in_sum.last, room.sum);
    const bool finite = sum.counters == nullptr || !has_special(sum.counters);
    MeanAndVariance m;
    if (wanted.ddof < wanted.n && finite) {
        const Magnitude q = magnitude_of(squares, in_squares.first, in_squares.last, room.squares);
        const int scale = q.last == q.first ? 0 : scale_of(q);
        if (!settles_variance(near_of(s, scale / 2), near_of(q, scale), scale, wanted, m.variance))
            m.variance = Outcome::of(variance(s, q, wanted.n, wanted.ddof, wanted.root, room));
    }
    const int scale = s.last == s.first ? 0 : scale_of(s);
    if (!wanted.mean || (finite && settles_mean(near_of(s, scale), scale, wanted, m.mean))) return m;
    const Outcome all = sum.counters == nullptr ? Outcome::of(leading(s))
                                                : sum_outcome(sum.counters, Finalize::mean, [&] { return leading(s); });
    m.mean = all.finalized(Finalize::mean, wanted.n);
    return m;
}

} // namespace detreduce::acc::exact
