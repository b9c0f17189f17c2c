// Means, variances and roots as two doubles, with a bound of how far off these are. Where all
// numbers within that bound round to the same number of a format, that is the result (Ziv 1991);
// elsewhere long integers say it (exact_variance.hpp). Plain functions for host and device.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact_rounding.hpp>
#include <detreduce/config.hpp>
#include <detreduce/fp/eft.hpp>

namespace detreduce::acc::exact {

/// value + rest, give or take `within`.
struct Near {
    double value, rest, within;

    [[nodiscard]] static DETREDUCE_HD constexpr Near unknown() {
        return {0, 0, fp::from_bits<double>(fp::infinity_bits<double>)};
    }
    /// Over an integer. Five operations round, each by 2^-53 of what is 2^-51 of the result.
    [[nodiscard]] DETREDUCE_HD Near over(fp::Eft<double> count) const {
        const double q = value / count.value, left = fp::fused(-q, count.value, value) + (rest - q * count.error);
        return {q, left / count.value, 2 * (within / count.value) + 0x1p-99 * (q < 0 ? -q : q)};
    }
    /// Nothing is known of that of a number that may be near zero.
    [[nodiscard]] DETREDUCE_HD Near root() const {
        if (!(2 * within < value)) return unknown();
        const double r = fp::square_root(value);
        return {r, (fp::fused(-r, r, value) + rest) / (2 * r), within / r + 0x1p-99 * r};
    }
    /// Do all numbers that this may be, times 2^scale, round to the same number of f, which is not
    /// zero? Then so does `o`.
    [[nodiscard]] DETREDUCE_HD bool settles(const fp::AnyFormat& f, int scale, Outcome& o) const {
        const bool negative = value < 0;
        const double v = negative ? -value : value, r = negative ? -rest : rest;
        const double low = v + (r - within), high = v + (r + within);
        if (!(low >= 0x1p-900 && high <= 0x1p1000)) return false;
        const std::uint64_t a = fp::to_bits(low), b = fp::to_bits(high);
        const int top = static_cast<int>(a >> 52) - 1023 + scale, last = top - (f.precision - 1),
                  lost = (last > f.min_exponent ? last : f.min_exponent) - (top - 52); // bits that f does not have
        if (lost > 52 || (lost <= 0 && a != b)) return false;
        // Of subnormals the next binade has the same unit, which is fewer bits there.
        if (last < f.min_exponent && (a - 1) >> 52 != (b + 1) >> 52) return false;
        if (lost > 0) {
            const std::uint64_t half = std::uint64_t{1} << (lost - 1);
            if ((a - 1 + half) >> lost != (b + 1 + half) >> lost) return false; // low and high are rounded themselves
        }
        const std::uint64_t hidden = std::uint64_t{1} << 52, significand = (a & (hidden - 1)) | hidden;
        o = Outcome::of({negative, static_cast<unsigned __int128>(significand) << 75, top - 127, false});
        return true;
    }
};

/// What is wanted of n elements.
struct WantedMoments {
    std::uint64_t n, ddof;
    bool mean, root; ///< the mean, too; the root of the variance
    fp::AnyFormat format;
};
struct MeanAndVariance {
    Outcome mean, variance;
};

inline constexpr std::uint64_t most_of_near = std::uint64_t{1} << 53; ///< elements: fewer than this

/// The variance, or its root, of n < 2^53 elements from Σx and Σx².
[[nodiscard]] DETREDUCE_HD Near near_variance(const Near& sum, const Near& squares, const WantedMoments& wanted) {
    const fp::Eft<double> s = fp::two_sum(sum.value, sum.rest), q = fp::two_sum(squares.value, squares.rest);
    const auto n = static_cast<double>(wanted.n);
    const fp::Eft<double> a = fp::two_prod(n, q.value), b = fp::two_prod(s.value, s.value),
                          top = fp::two_sum(a.value, -b.value);
    const double lower = (a.error + n * q.error) - (b.error + 2 * (s.value * s.error));
    const fp::Eft<double> d = fp::two_sum(top.value, top.error + lower);
    // n·Σx² is the largest of what was rounded here: (Σx)² is not larger.
    const double within = 0x1p-99 * a.value +
                          2 * (n * squares.within + (2 * (s.value < 0 ? -s.value : s.value) + sum.within) * sum.within);
    const Near variance =
        Near{d.value, d.error, within}.over(fp::two_prod(n, static_cast<double>(wanted.n - wanted.ddof)));
    return wanted.root ? variance.root() : variance;
}
/// Does that say it? Σx² is 2^scale times as large, Σx 2^(scale / 2) times; scale is even.
[[nodiscard]] DETREDUCE_HD bool settles_variance(const Near& sum, const Near& squares, int scale,
                                                 const WantedMoments& wanted, Outcome& o) {
    return wanted.n < most_of_near && wanted.ddof < wanted.n &&
           near_variance(sum, squares, wanted).settles(wanted.format, wanted.root ? scale / 2 : scale, o);
}
[[nodiscard]] DETREDUCE_HD bool settles_mean(const Near& sum, int scale, const WantedMoments& wanted, Outcome& o) {
    return wanted.n < most_of_near && sum.over({static_cast<double>(wanted.n), 0}).settles(wanted.format, scale, o);
}
/// The variance, and the mean where it is wanted.
[[nodiscard]] DETREDUCE_HD bool settles(const Near& sum, const Near& squares, int scale, const WantedMoments& wanted,
                                        MeanAndVariance& m) {
    return settles_variance(sum, squares, scale, wanted, m.variance) &&
           (!wanted.mean || settles_mean(sum, scale / 2, wanted, m.mean));
}

/// An even exponent of what is about the top of a magnitude other than zero.
[[nodiscard]] DETREDUCE_HD constexpr int scale_of(const Magnitude& m) {
    return (m.lowest + 32 * (m.last - 1)) & ~1;
}
/// The leading four limbs of a magnitude, at least 97 bits, with its sign, times 2^-scale. What is
/// 2^-200 is nothing.
[[nodiscard]] DETREDUCE_HD constexpr Near near_of(const Magnitude& m, int scale) {
    if (m.last == m.first) return {0, 0, 0};
    int exponent = m.lowest + 32 * (m.last - 1) - scale;
    if (exponent < -200) return {0, 0, 0x1p-168};
    Near sum{0, 0, 0};
    DETREDUCE_UNROLL(1)
    for (int k = m.last - 1; k > m.last - 5; --k) {
        const auto limb = static_cast<double>(m.negative ? -static_cast<Word>(m.at(k)) : static_cast<Word>(m.at(k)));
        const auto s =
            fp::two_sum(sum.value, limb * fp::from_bits<double>(static_cast<std::uint64_t>(exponent + 1023) << 52));
        sum = {s.value, sum.rest + s.error, 0};
        exponent -= 32;
    }
    sum.within = 0x1p-95 * (m.negative ? -sum.value : sum.value);
    return sum;
}

} // namespace detreduce::acc::exact
