// The partial result of `exact` (lib/SPEC.md, section 7): a long fixed-point number that holds every sum of up to 2^62 finite numbers of
// any format without rounding, as 32-bit digits in signed 64-bit words, and counters beside it. All of its words are sums over the elements,
// so states are merged by adding them word by word, in any order. After Kulisch's long accumulator (1971) and the "small
// superaccumulator" of Neal (2015), which leave carries for later in the same way.
//
// Plain functions over an array of words, for host and device; the class for users is ExactState (exact_state.hpp).
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::acc::exact {

using Word = std::int64_t;

inline constexpr int lowest_exponent =
    -1088;                        ///< digit k counts units of 2^(32k − 1088); the smallest double is 2^−1074
inline constexpr int digits = 68; ///< the last one reaches from 2^1056 to 2^1119, past 2^62 · 2^1024
/// Words after the digits: how many NaNs, +inf, −inf, elements in all and −0 there were.
inline constexpr int nan_count = 68, positive_infinities = 69, negative_infinities = 70, elements = 71,
                     negative_zeros = 72;
/// |digit| ≤ weight · 2^33: how many additions wait for their carries. 1 when normalized, 0 for no digits at all.
inline constexpr int weight = 73;
inline constexpr int words = 74;

/// Largest weight: digits stay below 2^62, so that one more addition cannot wrap a word.
inline constexpr Word max_weight = Word{1} << 29;

/// Digits that one value of 64 bits touches, from digit `first` on.
struct Deposit {
    int first;
    Word digit[3];
};

/// value · 2^exponent as digits, each below 2^33 in magnitude. exponent ≥ lowest_exponent.
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

/// Adds value · 2^exponent. A third digit past the last one is zero for every value that is in range.
DETREDUCE_HD constexpr void deposit(Word* w, Word value, int exponent) {
    const Deposit d = split(value, exponent);
    for (int i = 0; i < 3 && d.first + i < digits; ++i)
        w[d.first + i] += d.digit[i];
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

/// Passes carries on, so that digits are in [0, 2^32), the last one (with the sign) aside. The value stays; each value has one such form.
DETREDUCE_HD constexpr void normalize(Word* w) {
    Word carry = 0, seen = 0;
    for (int k = 0; k < digits; ++k) {
        const Word digit = w[k] + carry;
        carry = k + 1 < digits ? digit >> 32 : 0; // rounds down, also below zero
        w[k] = digit - (carry << 32);
        seen |= w[k];
    }
    w[weight] = seen != 0;
}

/// Did NaN or infinities decide the sum? Then `result` is what it is. A count below zero is of elements that were subtracted.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr bool is_special(const Word* w, T& result) {
    const bool up = w[positive_infinities] > 0 || w[negative_infinities] < 0;
    const bool down = w[negative_infinities] > 0 || w[positive_infinities] < 0;
    if (w[nan_count] != 0 || (up && down)) {
        result = fp::from_bits<T>(fp::Format<T>::canonical_nan);
    } else if (up || down) {
        result = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::infinity_bits<T> | (down ? fp::sign_mask<T> : 0)));
    } else {
        return false;
    }
    return true;
}

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T signed_zero(const Word* w) {
    const bool negative = w[elements] > 0 && w[elements] == w[negative_zeros];
    return fp::from_bits<T>(negative ? fp::sign_mask<T> : fp::Bits<T>{0});
}

/// The magnitude Σ d_k·2^(32k), first ≤ k ≤ top, 0 ≤ d_k < 2^32, d_top ≠ 0, rounded to T.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T round_magnitude(bool negative, const std::uint32_t* d, int first, int top) {
    const auto at = [d, first](int k) { return k >= first ? std::uint64_t{d[k]} : std::uint64_t{0}; };
#if defined(__CUDA_ARCH__)
    const int lead = __clz(static_cast<int>(d[top]));
#else
    const int lead = __builtin_clz(d[top]);
#endif
    std::uint64_t significand = at(top) << 32 | at(top - 1);
    std::uint32_t rest = static_cast<std::uint32_t>(at(top - 2));
    if (lead > 0) {
        significand = significand << lead | rest >> (32 - lead);
        rest <<= lead;
    }
    bool sticky = rest != 0;
    for (int k = top - 3; k >= first && !sticky; --k)
        sticky = d[k] != 0;
    return fp::round_significand<T>(negative, significand, lowest_exponent + 32 * (top - 1) - lead, sticky);
}

/// Room for round(): the magnitude if the sum is positive, and if it is negative.
struct RoundScratch {
    std::uint32_t positive[digits + 2], negative[digits + 2];
};

/// The value of the words, rounded once to T, to nearest, ties to even. All digits but first … last − 1 must be zero.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T round(const Word* w, int first, int last, RoundScratch& scratch) {
    T result{};
    if (is_special(w, result)) return result;
    Word carry = 0, borrow = 0;
    int k = first;
    // Past the last digit one of the two is done when nothing is left to carry in it; that is the magnitude.
    for (; k < last || (k < digits + 2 && carry != 0 && borrow != 0); ++k) {
        const Word digit = k < last ? w[k] : 0, p = digit + carry, m = borrow - digit;
        scratch.positive[k] = static_cast<std::uint32_t>(p);
        scratch.negative[k] = static_cast<std::uint32_t>(m);
        carry = p >> 32;
        borrow = m >> 32;
    }
    const bool is_negative = carry < 0;
    const std::uint32_t* const d = is_negative ? scratch.negative : scratch.positive;
    int top = k - 1;
    while (top >= first && d[top] == 0)
        --top;
    return top < first ? signed_zero<T>(w) : round_magnitude<T>(is_negative, d, first, top);
}
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T round(const Word* w) {
    RoundScratch scratch{};
    return round<T>(w, 0, digits, scratch);
}

} // namespace detreduce::acc::exact
