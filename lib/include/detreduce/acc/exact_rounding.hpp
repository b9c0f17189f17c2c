// How the long number of an `exact` state is rounded (lib/SPEC.md, section 7): its leading bits and
// whether anything is below them, the mean or root of these, and the one rounding to a format.
// Plain functions for host and device.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact.hpp>
#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/types.hpp>

namespace detreduce::acc::exact {

/// A long number, limb k in units of 2^(32k + lowest), and the words of the state that counts what
/// went into it.
struct Long {
    const Word* limb;
    int lowest;
    const Word* counters;
};

/// Room for finish(): the magnitude if the number is positive, and if it is negative.
template <int Limbs>
struct Scratch {
    static constexpr int size = Limbs + 2;
    std::uint32_t positive[size], negative[size];
};

/// ±(significand + s)·2^exponent with s = 0, or, if sticky, some number in (0, 1). The top bit of
/// the significand is set, unless it is zero.
struct Leading {
    bool negative;
    unsigned __int128 significand;
    int exponent;
    bool sticky;
};

/// A number without its sign: limb k in units of 2^(32k + lowest), of which first … last − 1 may be
/// other than zero.
struct Magnitude {
    bool negative;
    const std::uint32_t* limb;
    int first, last, lowest;

    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t at(int k) const {
        return k >= first && k < last ? std::uint64_t{limb[k]} : std::uint64_t{0};
    }
    [[nodiscard]] DETREDUCE_HD constexpr bool any_below(int k) const {
        DETREDUCE_UNROLL(1)
        for (int i = (k < last ? k : last) - 1; i >= first; --i) {
            if (limb[i] != 0) return true;
        }
        return false;
    }
};

/// The magnitude of a number whose limbs but first … last − 1 are zero. Its last limb is not zero,
/// unless there is none.
template <int Limbs>
[[nodiscard]] DETREDUCE_HD constexpr Magnitude magnitude_of(const Long& number, int first, int last,
                                                            Scratch<Limbs>& scratch) {
    Word carry = 0, borrow = 0;
    int k = first;
    // Past the last limb one of the two is done when nothing remains to carry in it; that is the
    // magnitude.
    DETREDUCE_UNROLL(1)
    for (; k < last || (k < Scratch<Limbs>::size && carry != 0 && borrow != 0); ++k) {
        const Word limb = k < last ? number.limb[k] : 0, p = limb + carry, m = borrow - limb;
        scratch.positive[k] = static_cast<std::uint32_t>(p);
        scratch.negative[k] = static_cast<std::uint32_t>(m);
        carry = p >> 32;
        borrow = m >> 32;
    }
    const bool negative = carry < 0;
    const std::uint32_t* const d = negative ? scratch.negative : scratch.positive;
    DETREDUCE_UNROLL(1)
    while (k > first && d[k - 1] == 0)
        --k;
    return {negative, d, first, k, number.lowest};
}

/// How many of the top bits of a number other than zero are not set.
[[nodiscard]] DETREDUCE_HD constexpr int leading_zeros(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
    return __clzll(static_cast<long long>(x));
#else
    return __builtin_clzll(x);
#endif
}

/// A number in units of 2^unit.
[[nodiscard]] DETREDUCE_HD constexpr Leading leading(__int128 number, int unit) {
    if (number == 0) return {false, 0, 0, false};
    const bool negative = number < 0;
    const auto magnitude = static_cast<unsigned __int128>(negative ? -number : number);
    const auto upper = static_cast<std::uint64_t>(magnitude >> 64);
    const int lead = upper != 0 ? leading_zeros(upper) : 64 + leading_zeros(static_cast<std::uint64_t>(magnitude));
    return {negative, magnitude << lead, unit - lead, false};
}

/// The leading bits of a magnitude, with its sign.
[[nodiscard]] DETREDUCE_HD constexpr Leading leading(const Magnitude& m) {
    if (m.last == m.first) return {false, 0, 0, false};
    const int top = m.last - 1, lead = leading_zeros(std::uint64_t{m.limb[top]}) - 32;
    const std::uint64_t next = m.at(top - 4) << lead; // 32 bits that go into the significand, and the rest
    const auto four =
        static_cast<unsigned __int128>(m.at(top) << 32 | m.at(top - 1)) << 64 | (m.at(top - 2) << 32 | m.at(top - 3));
    const bool sticky = static_cast<std::uint32_t>(next) != 0 || m.any_below(top - 4);
    return {m.negative, four << lead | next >> 32, m.lowest + 32 * (top - 3) - lead, sticky};
}
/// Those of a number whose limbs but first … last − 1 are zero.
template <int Limbs>
[[nodiscard]] DETREDUCE_HD constexpr Leading leading(const Long& number, int first, int last, Scratch<Limbs>& scratch) {
    return leading(magnitude_of(number, first, last, scratch));
}

/// The largest integer whose square is at most x, 2^126 ≤ x.
[[nodiscard]] DETREDUCE_HD std::uint64_t integer_root(unsigned __int128 x) {
    const double near = fp::square_root(static_cast<double>(static_cast<std::uint64_t>(x >> 64))) * 0x1p32;
    std::uint64_t r = near >= 0x1p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(near);
    // One step of Newton's, of which a double has enough bits, brings it to within 1, before the
    // last word is had by trying.
    const auto square = static_cast<unsigned __int128>(r) * r;
    const bool below = square <= x;
    const unsigned __int128 rest = below ? x - square : square - x; // below 2^80
    const auto step = static_cast<std::uint64_t>(static_cast<double>(static_cast<std::uint64_t>(rest >> 16)) * 0x1p15 /
                                                 static_cast<double>(r));
    r = !below ? r - step : step <= ~r ? r + step : ~std::uint64_t{0};
    while (static_cast<unsigned __int128>(r) * r > x)
        --r;
    while (r != ~std::uint64_t{0} && static_cast<unsigned __int128>(r + 1) * (r + 1) <= x)
        ++r;
    return r;
}

/// Is n a power of two, or 0?
[[nodiscard]] DETREDUCE_HD constexpr bool is_power_of_two(std::uint64_t n) {
    return (n & (n - 1)) == 0;
}

/// What is divided by, 1 ≤ count < 2^63. A GPU divides 64 bits in 500 cycles, and multiplies by
/// the reciprocal in 50.
struct Divisor {
    std::uint64_t count, reciprocal; ///< ⌊(2^64 − 1) / count⌋

    DETREDUCE_HD constexpr Divisor(std::uint64_t n) : count(n), reciprocal(~std::uint64_t{0} / n) {}
    /// ⌊x / count⌋; x becomes the rest. The product with the reciprocal is less than 2 too small.
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t divide(std::uint64_t& x) const {
        auto quotient = static_cast<std::uint64_t>(static_cast<unsigned __int128>(x) * reciprocal >> 64);
        x -= quotient * count;
        for (int i = 0; i < 2; ++i) {
            quotient += x >= count ? 1 : 0;
            x -= x >= count ? count : 0;
        }
        return quotient;
    }
};

/// 64 bits behind `rest`, which is below the count, over it; `rest` is what remains. A count of 32
/// bits takes two divisions, a larger one, which is seldom, one bit after the other: little code.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t divide_step(std::uint64_t& rest, std::uint64_t limb,
                                                               const Divisor& divisor) {
    const std::uint64_t count = divisor.count;
    std::uint64_t quotient = 0;
    if (count >> 32 == 0) {
        rest = rest << 32 | limb >> 32;
        quotient = divisor.divide(rest) << 32;
        rest = rest << 32 | (limb & 0xffffffffu);
        return quotient | divisor.divide(rest);
    }
    DETREDUCE_UNROLL(1)
    for (int bit = 63; bit >= 0; --bit) {
        rest = rest << 1 | (limb >> bit & 1);
        quotient <<= 1;
        if (rest < count) continue;
        rest -= count;
        quotient |= 1;
    }
    return quotient;
}

/// The leading bits of the number over `count`, or of its square root: the limbs below only ever
/// add to the stickiness.
[[nodiscard]] DETREDUCE_HD Leading ended(Leading a, Finalize finalize, std::uint64_t count) {
    if (finalize == Finalize::mean && is_power_of_two(count)) { // which takes no division
        if (count > 0) a.exponent -= 63 - leading_zeros(count);
    } else if (finalize == Finalize::mean) {
        const Divisor divisor(count);
        std::uint64_t rest = 0;
        unsigned __int128 quotient = 0;
        DETREDUCE_UNROLL(1)
        for (int i = 0; i < 2; ++i) {
            quotient = quotient << 64 | divide_step(rest, static_cast<std::uint64_t>(a.significand >> 64), divisor);
            a.significand <<= 64;
        }
        a.sticky = a.sticky || rest != 0;
        const int lead = leading_zeros(static_cast<std::uint64_t>(quotient >> 64));
        a.significand = quotient << lead;
        // At least 2^64, as count is below 2^63. What is shifted in is not known, but sticky.
        a.exponent -= lead;
    } else if (finalize == Finalize::root) {
        if (a.exponent % 2 != 0) { // the last bit goes to the sticky ones
            a.sticky = a.sticky || (a.significand & 1) != 0;
            a.significand >>= 1;
            ++a.exponent;
        }
        const std::uint64_t r = integer_root(a.significand);
        a.sticky = a.sticky || static_cast<unsigned __int128>(r) * r != a.significand;
        a.significand = static_cast<unsigned __int128>(r) << 64;
        a.exponent = a.exponent / 2 - 64;
    }
    return a;
}

/// What is rounded in the end: a number, or what stands in its place. Of zeros and infinities only
/// the sign counts.
struct Outcome {
    enum class Kind : std::uint8_t { number, zero, infinity, nan };
    Kind kind = Kind::nan;
    Leading number{};

    /// A sum of finite elements, not all of them −0.
    [[nodiscard]] static DETREDUCE_HD constexpr Outcome of(const Leading& a) {
        return a.significand == 0 ? Outcome{Kind::zero, {}} : Outcome{Kind::number, a};
    }
    /// The finalize of such a sum of `count` elements; what stands in the place of one stays.
    [[nodiscard]] DETREDUCE_HD Outcome finalized(Finalize finalize, std::uint64_t count) const {
        if (kind != Kind::number || finalize == Finalize::sum) return *this;
        return {kind, ended(number, finalize, count)};
    }
    [[nodiscard]] static DETREDUCE_HD constexpr Outcome signed_of(Kind kind, bool negative) {
        return {kind, {negative, 0, 0, false}};
    }
};

/// Did infinities or NaN go into the state?
[[nodiscard]] DETREDUCE_HD constexpr bool has_special(const Word* w) {
    return (w[nan_count] | w[positive_infinities] | w[negative_infinities]) != 0;
}

/// What NaN and infinities make of a sum. A count below zero is of elements that were subtracted.
[[nodiscard]] DETREDUCE_HD constexpr Outcome special_outcome(const Word* w) {
    const bool up = w[positive_infinities] > 0 || w[negative_infinities] < 0;
    const bool down = w[negative_infinities] > 0 || w[positive_infinities] < 0;
    if (w[nan_count] != 0 || (up && down)) return {};
    return Outcome::signed_of(Outcome::Kind::infinity, down);
}

/// The sum, which Outcome::finalized() finalizes, from what was counted and its leading
/// bits. Not for roots of what is below zero.
template <class LeadingOf>
[[nodiscard]] DETREDUCE_HD constexpr Outcome sum_outcome(const Word* w, Finalize finalize,
                                                         const LeadingOf& leading_of) {
    if (has_special(w)) return special_outcome(w);
    // No elements have no mean; a plan refuses that, but for groups whose lengths it does not know.
    if (finalize == Finalize::mean && w[elements] == 0) return {};
    const Leading a = leading_of();
    if (a.significand == 0)
        return Outcome::signed_of(Outcome::Kind::zero, w[elements] > 0 && w[elements] == w[negative_zeros]);
    return Outcome::of(a);
}
/// All limbs but first … last − 1 must be zero.
template <int Limbs>
[[nodiscard]] DETREDUCE_HD constexpr Outcome sum_outcome(const Long& number, int first, int last, Finalize finalize,
                                                         Scratch<Limbs>& scratch) {
    return sum_outcome(number.counters, finalize, [&] { return leading(number, first, last, scratch); });
}
template <int Limbs>
[[nodiscard]] DETREDUCE_HD Outcome outcome(const Long& number, int first, int last, Finalize finalize,
                                           Scratch<Limbs>& scratch) {
    return sum_outcome(number, first, last, finalize, scratch)
        .finalized(finalize, static_cast<std::uint64_t>(number.counters[elements]));
}

/// The bits of what is rounded once to a format, to nearest, ties to even.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t rounded(const fp::AnyFormat& f, const Outcome& o) {
    const Leading& a = o.number;
    switch (o.kind) {
    case Outcome::Kind::number:
        return fp::round_significand(f, a.negative, static_cast<std::uint64_t>(a.significand >> 64), a.exponent + 64,
                                     a.sticky || static_cast<std::uint64_t>(a.significand) != 0);
    case Outcome::Kind::zero:
        return a.negative ? f.sign() : 0;
    case Outcome::Kind::infinity:
        return fp::beyond(f, a.negative);
    default:
        return f.canonical_nan();
    }
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T rounded(const Outcome& o) {
    return fp::from_bits<T>(static_cast<fp::Bits<T>>(rounded(fp::AnyFormat::of<T>(), o)));
}

/// The same of the number, at once.
template <class T, int Limbs>
[[nodiscard]] DETREDUCE_HD T finish(const Long& number, int first, int last, Finalize finalize,
                                    Scratch<Limbs>& scratch) {
    return rounded<T>(outcome(number, first, last, finalize, scratch));
}

/// The same of a state's words.
template <class T>
[[nodiscard]] DETREDUCE_HD T round(const Word* w, Finalize finalize = Finalize::sum) {
    Scratch<limbs> scratch{};
    return finish<T>(Long{w, lowest_exponent, w}, 0, limbs, finalize, scratch);
}

/// The same of three states of products.
template <class T>
[[nodiscard]] DETREDUCE_HD T round_products(const Word* states, Finalize finalize) {
    Word joined[product_limbs] = {};
    for (int k = 0; k < product_limbs; ++k)
        joined[k] = joined_limb(states, k);
    Scratch<product_limbs> scratch{};
    return finish<T>(Long{joined, lowest_product_exponent, states + words}, 0, product_limbs, finalize, scratch);
}

} // namespace detreduce::acc::exact
