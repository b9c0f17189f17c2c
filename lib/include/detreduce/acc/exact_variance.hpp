// The variance by `exact` (lib/SPEC.md, section 12): n·Σx² − (Σx)² over n·(n − ddof), from the digits of the two sums. The difference is a long number
// without any error; of it as many leading bits are kept as two divisions need to leave all that a root needs.
// Plain functions over arrays of digits, for host and device; nothing is allocated.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact.hpp>

namespace detreduce::acc::exact {

/// (limb₀·2^192 + … + limb₃ + s)·2^exponent with s = 0, or, if sticky, some number in (0, 1). The top bit of limb₀ is set, or all is zero.
struct Wide {
    std::uint64_t limb[4];
    int exponent;
    bool sticky;
};

/// The leading 256 bits of a magnitude.
[[nodiscard]] DETREDUCE_HD constexpr Wide leading_wide(const Magnitude& m) {
    Wide wide{};
    if (m.last == m.first) return wide;
    const int top = m.last - 1, lead = leading_zeros(m.digit[top]);
    for (int i = 0; i < 4; ++i) {
        const int k = top - 2 * i;
        const auto three = static_cast<unsigned __int128>(m.at(k) << 32 | m.at(k - 1)) << 32 | m.at(k - 2);
        wide.limb[i] = static_cast<std::uint64_t>(three >> (32 - lead));
    }
    wide.exponent = m.lowest + 32 * (top - 7) - lead;
    wide.sticky = (m.at(top - 8) << lead & 0xffffffffu) != 0 || m.any_below(top - 8);
    return wide;
}

/// 64 bits behind `rest`, which is below count, over count; `rest` is what is left. A count of 32 bits takes no division of 128 bits, which is long.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t divide_step(std::uint64_t& rest, std::uint64_t limb,
                                                               std::uint64_t count) {
    std::uint64_t quotient = 0;
    if (count >> 32 == 0) {
        const std::uint64_t high = rest << 32 | limb >> 32, q_high = high / count;
        const std::uint64_t low = (high - q_high * count) << 32 | (limb & 0xffffffffu), q_low = low / count;
        rest = low - q_low * count;
        quotient = q_high << 32 | q_low;
    } else {
        const unsigned __int128 all = static_cast<unsigned __int128>(rest) << 64 | limb;
        quotient = static_cast<std::uint64_t>(all / count);
        rest = static_cast<std::uint64_t>(all - static_cast<unsigned __int128>(quotient) * count);
    }
    return quotient;
}

/// Over count, 1 ≤ count ≤ 2^40. As many bits as the count has are lost at the end, where zeros stand for them: what they were shows in `sticky` alone.
DETREDUCE_HD constexpr void divide(Wide& a, std::uint64_t count) {
    std::uint64_t rest = 0;
    for (std::uint64_t& limb : a.limb)
        limb = divide_step(rest, limb, count);
    a.sticky = a.sticky || rest != 0;
    int shift = 0;
    for (; shift < 64 && a.limb[0] >> (63 - shift) == 0; ++shift) {
    }
    if (shift == 0 || shift == 64) return; // 64: zero
    for (int i = 0; i < 4; ++i)
        a.limb[i] = a.limb[i] << shift | (i < 3 ? a.limb[i + 1] >> (64 - shift) : 0);
    a.exponent -= shift;
}

/// Its leading 128 bits.
[[nodiscard]] DETREDUCE_HD constexpr Leading narrowed(const Wide& a) {
    return {false, static_cast<unsigned __int128>(a.limb[0]) << 64 | a.limb[1], a.exponent + 128,
            a.sticky || (a.limb[2] | a.limb[3]) != 0};
}

/// Digits of n·Σx² − (Σx)²; its lowest one counts units of 2^−2176, as those of a square do.
inline constexpr int difference_digits = product_digits + 8, lowest_difference_exponent = 2 * lowest_exponent;
static_assert(lowest_difference_exponent == lowest_product_exponent && 2 * (digits + 2) <= difference_digits);

/// n·squares − sum², which is never below zero, into `room`: column by column, as on paper. n ≤ 2^40.
[[nodiscard]] DETREDUCE_HD Magnitude difference(const Magnitude& sum, const Magnitude& squares, std::uint64_t n,
                                                std::uint32_t* room) {
    const int moved = (squares.lowest - lowest_difference_exponent) / 32; // the column of the squares' digit 0
    const int first_square = squares.first + moved, last_square = squares.last + moved + 2;
    const int first = first_square < 2 * sum.first ? first_square : 2 * sum.first;
    const int last = last_square > 2 * sum.last ? last_square : 2 * sum.last;
    const std::uint64_t low = n & 0xffffffffu, high = n >> 32;
    __int128 column = 0;
    for (int k = first; k < last; ++k) {
        column += static_cast<__int128>(low * squares.at(k - moved)) + high * squares.at(k - moved - 1);
        const int end = k - sum.first < sum.last - 1 ? k - sum.first : sum.last - 1;
        for (int i = k - sum.last + 1 > sum.first ? k - sum.last + 1 : sum.first; i <= end; ++i)
            column -= std::uint64_t{sum.digit[i]} * sum.digit[k - i];
        room[k] = static_cast<std::uint32_t>(column);
        column >>= 32; // rounds down, also below zero
    }
    int end = last;
    while (end > first && room[end - 1] == 0)
        --end;
    return {false, room, first, end, lowest_difference_exponent};
}

/// What the variance is worked out in.
struct VarianceRoom {
    Scratch<digits> sum;
    Scratch<product_digits> squares;
    std::uint32_t difference[difference_digits];
};

/// Digits first … last − 1 of a long number; the others are zero.
struct DigitRange {
    int first, last;
};

/// The leading bits of the variance, or of its root, of n finite elements, from Σx and Σx². Zero where they are all equal.
[[nodiscard]] DETREDUCE_HD Leading variance(const Long& sum, DigitRange in_sum, const Long& squares,
                                            DigitRange in_squares, std::uint64_t n, std::uint64_t ddof, bool root,
                                            VarianceRoom& room) {
    const Magnitude s = magnitude_of(sum, in_sum.first, in_sum.last, room.sum),
                    q = magnitude_of(squares, in_squares.first, in_squares.last, room.squares);
    Wide wide = leading_wide(difference(s, q, n, room.difference));
    divide(wide, n);
    divide(wide, n - ddof);
    const Leading leading = narrowed(wide);
    return root && leading.significand != 0 ? ended(leading, Finalize::root, 1) : leading;
}

/// Did infinities or NaN go into the state?
[[nodiscard]] DETREDUCE_HD constexpr bool has_special(const Word* w) {
    return (w[nan_count] | w[positive_infinities] | w[negative_infinities]) != 0;
}

} // namespace detreduce::acc::exact
