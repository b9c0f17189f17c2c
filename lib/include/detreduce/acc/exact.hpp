// The partial result of `exact` (lib/SPEC.md, section 7): a long fixed-point number that holds
// every sum of up to 2^62 finite numbers of any format without rounding, as 32-bit limbs in signed
// 64-bit words, and counters beside it. All of its words are sums over the elements, so states are
// merged by adding them word by word, in any order. After Kulisch's long accumulator (1971) and the
// "small superaccumulator" of Neal (2015), which leave carries for later in the same way.
//
// Plain functions over an array of words, for host and device; the class for users is ExactState
// (exact_state.hpp).
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::acc::exact {

using Word = std::int64_t;

inline constexpr int lowest_exponent = -1088; ///< limb k counts units of 2^(32k − 1088); the smallest double is 2^−1074
inline constexpr int limbs = 68;              ///< the last one reaches from 2^1056 to 2^1119, past 2^62 · 2^1024
/// Words after the limbs: how many NaNs, +inf, −inf, elements in all and −0 there were.
inline constexpr int nan_count = 68, positive_infinities = 69, negative_infinities = 70, elements = 71,
                     negative_zeros = 72;
/// |limb| ≤ weight · 2^33: how many additions wait for their carries. 1 when normalized, 0 for no
/// limbs at all.
inline constexpr int weight = 73;
inline constexpr int words = 74;
/// The same of a longer number, of so many limbs: its counters and its weight follow them in this
/// order.
inline constexpr int counters = words - limbs;
template <int Limbs = limbs>
inline constexpr int weight_of = Limbs + counters - 1;

/// Largest weight: limbs stay below 2^62, so that one more addition cannot wrap a word.
inline constexpr Word max_weight = Word{1} << 29;

/// The headroom of a caller's state (lib/SPEC.md, section 7.1): counters of at most 2^62 in
/// magnitude, and a sum in [−2^1086, 2^1086), which holds for 2^62 elements: when normalized, the
/// last limb is in [−2^30, 2^30). Before carries are passed on, no limb is above 2^62.
inline constexpr Word max_count = Word{1} << 62, max_last_limb = Word{1} << 30;
/// The last limb of a state that went beyond. It outweighs those of 2^15 other states, should words
/// be added as plain integers.
inline constexpr Word beyond_limb = Word{1} << 47;

/// Limbs that one value of 64 bits touches, from limb `first` on.
struct Deposit {
    int first;
    Word limb[3];
};

/// value · 2^exponent as limbs, each below 2^33 in magnitude. exponent ≥ lowest_exponent.
[[nodiscard]] DETREDUCE_HD constexpr Deposit split(Word value, int exponent) {
    constexpr std::uint64_t mask = 0xffffffffu;
    const auto position = static_cast<unsigned>(exponent - lowest_exponent);
    const unsigned shift = position % 32;
    const bool negative = value < 0;
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const std::uint64_t low = (magnitude & mask) << shift, high = (magnitude >> 32) << shift;
    const auto d0 = static_cast<Word>(low & mask), d1 = static_cast<Word>((low >> 32) + (high & mask)),
               d2 = static_cast<Word>(high >> 32);
    return {static_cast<int>(position / 32), {negative ? -d0 : d0, negative ? -d1 : d1, negative ? -d2 : d2}};
}

/// Adds value · 2^exponent. A third limb past the last one is zero for every value that is in
/// range.
DETREDUCE_HD constexpr void deposit(Word* w, Word value, int exponent) {
    const Deposit d = split(value, exponent);
    for (int i = 0; i < 3 && d.first + i < limbs; ++i)
        w[d.first + i] += d.limb[i];
}

/// A finite number as significand · 2^exponent.
struct Parts {
    Word significand;
    int exponent;
};
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr Parts parts(T x) {
    using F = fp::Format<T>;
    const std::uint64_t magnitude = fp::magnitude_bits(x), hidden = std::uint64_t{1} << (F::precision - 1);
    const auto field = static_cast<int>(magnitude >> (F::precision - 1));
    const auto m = static_cast<Word>((magnitude & (hidden - 1)) | (field == 0 ? 0 : hidden));
    return {fp::is_negative(x) ? -m : m, F::min_exponent + (field == 0 ? 0 : field - 1)};
}

/// Counts the special value x; false for a finite number.
template <class T>
DETREDUCE_HD constexpr bool count_special(Word* w, T x) {
    if (fp::is_finite(x)) return false;
    w[fp::is_nan(x) ? nan_count : fp::is_negative(x) ? negative_infinities : positive_infinities] += 1;
    return true;
}

/// Adds the one element x; the caller keeps the weight and the counter of elements.
template <class T>
DETREDUCE_HD constexpr void add(Word* w, T x) {
    if (count_special(w, x)) return;
    if (fp::to_bits(x) == fp::sign_mask<T>) w[negative_zeros] += 1;
    const Parts p = parts(x);
    deposit(w, p.significand, p.exponent);
}

/// Passes carries on, so that limbs are in [0, 2^32), the last one (with the sign) aside. The value
/// stays; each value has one such form.
template <int Limbs = limbs>
DETREDUCE_HD constexpr void normalize(Word* w) {
    Word carry = 0, seen = 0;
    DETREDUCE_UNROLL(4)
    for (int k = 0; k < Limbs; ++k) {
        const Word limb = w[k] + carry;
        carry = k + 1 < Limbs ? limb >> 32 : 0; // rounds down, also below zero
        w[k] = limb - (carry << 32);
        seen |= w[k];
    }
    w[weight_of<Limbs>] = seen != 0;
}

/// May word k be that of a state, with carries to do or without?
template <int Limbs = limbs>
[[nodiscard]] DETREDUCE_HD constexpr bool word_fits(Word value, int k) {
    const auto from_lowest = static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(max_count);
    return k == weight_of<Limbs> ? value >= 0 && value <= max_weight
                                 : from_lowest <= 2 * static_cast<std::uint64_t>(max_count);
}

/// Does the sum lie in [−2^1086, 2^1086)? All words must fit.
template <int Limbs = limbs>
[[nodiscard]] DETREDUCE_HD constexpr bool sum_fits(const Word* w) {
    const Word last = w[Limbs - 1], next = w[Limbs - 2];
    constexpr Word near = max_last_limb / 2, near_next = Word{1} << 60;
    if (last < near && last >= -near && next < near_next && next >= -near_next) return true; // whatever is carried
    Word carry = 0;
    DETREDUCE_UNROLL(1)
    for (int k = 0; k + 1 < Limbs; ++k)
        carry = (w[k] + carry) >> 32;
    return last + carry < max_last_limb && last + carry >= -max_last_limb;
}

/// Is the state beyond the headroom?
template <int Limbs = limbs>
[[nodiscard]] DETREDUCE_HD constexpr bool is_beyond(const Word* w) {
    constexpr int at_weight = weight_of<Limbs>;
    std::uint64_t differ = 0; // bit 63: the two highest bits of a word differ, as they do from 2^62 on
    DETREDUCE_UNROLL(4)
    for (int k = 0; k <= at_weight; ++k)
        differ |= static_cast<std::uint64_t>(w[k]) ^ static_cast<std::uint64_t>(w[k]) << 1;
    bool fits = word_fits<Limbs>(w[at_weight], at_weight);
    DETREDUCE_UNROLL(1)
    for (int k = 0; k < at_weight && differ >> 63 != 0; ++k)
        fits = fits && word_fits<Limbs>(w[k], k);
    return !fits || !sum_fits<Limbs>(w);
}

/// Word k of a state that went beyond: it counts a NaN, so that its value is NaN wherever it is
/// looked at. normalize() leaves it as it is.
template <int Limbs = limbs>
[[nodiscard]] DETREDUCE_HD constexpr Word beyond_word(int k) {
    return k == Limbs - 1 ? beyond_limb : k == Limbs + nan_count - limbs || k == weight_of<Limbs>;
}
template <int Limbs = limbs>
DETREDUCE_HD constexpr void set_beyond(Word* w) {
    DETREDUCE_UNROLL(1)
    for (int k = 0; k <= weight_of<Limbs>; ++k)
        w[k] = beyond_word<Limbs>(k);
}

/// Products of doubles reach further: their sum is kept in three states, of products that are
/// scaled by 2^1088, by 1 and by 2^−1088. That is 34 limbs either way, so that the three together
/// are one long number.
inline constexpr int scale_bits = 1088, scale_limbs = scale_bits / 32, product_states = 3;
inline constexpr int product_limbs = limbs + 2 * scale_limbs, lowest_product_exponent = lowest_exponent - scale_bits;

/// Limb k of the three states together. Each of them must be below 2^61.
[[nodiscard]] DETREDUCE_HD constexpr Word joined_limb(const Word* states, int k) {
    Word sum = 0;
    for (int s = 0; s < product_states; ++s) {
        const int at = k - s * scale_limbs;
        if (at >= 0 && at < limbs) sum += states[s * words + at];
    }
    return sum;
}

/// The three as one state of product_limbs limbs, with the counters of the middle one, normalized:
/// whatever product went into which, equal sums have equal words.
inline constexpr int joined_words = product_limbs + counters;
DETREDUCE_HD constexpr void join(const Word* states, Word* joined) {
    for (int k = 0; k < product_limbs; ++k)
        joined[k] = joined_limb(states, k);
    for (int k = 0; k < counters; ++k)
        joined[product_limbs + k] = states[words + limbs + k];
    normalize<product_limbs>(joined);
}
/// And back. The outer two get what the middle one has no limbs for.
DETREDUCE_HD constexpr void part(const Word* joined, Word* states) {
    DETREDUCE_UNROLL(1)
    for (int k = 0; k < product_states * words; ++k)
        states[k] = 0;
    DETREDUCE_UNROLL(1)
    for (int k = 0; k < product_limbs; ++k) {
        const int s = k < scale_limbs ? 0 : k < scale_limbs + limbs ? 1 : 2;
        states[s * words + k - s * scale_limbs] = joined[k];
    }
    for (int k = 0; k < counters; ++k)
        states[words + limbs + k] = joined[product_limbs + k];
}

/// factor · a · b of finite a and b as one or two numbers without error, in units of
/// 2^((1 − state)·1088): numbers for state `state`. Made so that neither the product nor its error
/// over- or underflows: the exponents of the product of what is scaled lie in −1060 … 1000.
struct ScaledProduct {
    int state;
    double value, error;
};
[[nodiscard]] DETREDUCE_HD ScaledProduct scaled_product(double a, double b, double factor) {
    const double p = a * b, magnitude = fp::from_bits<double>(fp::magnitude_bits(p));
    if (!fp::is_finite(a) || !fp::is_finite(b)) return {1, p, 0.0};
    if (a == 0 || b == 0) return {1, p * factor, 0.0};
    if (magnitude < 0x1p1000 && magnitude >= 0x1p-900) return {1, factor * p, factor * fp::fused(a, b, -p)};
    const bool large = magnitude >= 1, a_is_larger = fp::magnitude_bits(a) >= fp::magnitude_bits(b);
    // 2^±1088 is no double: it is two factors. The larger one is made smaller, the smaller one
    // larger; both exactly.
    const double scale = large ? 0x1p-544 : 0x1p544;
    if (a_is_larger == large) {
        a = a * scale * scale;
    } else {
        b = b * scale * scale;
    }
    const double q = a * b;
    return {large ? 2 : 0, factor * q, factor * fp::fused(a, b, -q)};
}

} // namespace detreduce::acc::exact
