// The oracle: sums of floating-point numbers without any rounding, and the one number of the format
// nearest to such a sum.
#pragma once

#include <cstdint>
#include <span>

#include <detreduce/accuracy/fixed_point.hpp>
#include <detreduce/accuracy/rounding.hpp>
#include <detreduce/fp/bits.hpp>

namespace detreduce::accuracy {

/// A finite number in exact parts: (−1)^negative · mantissa · 2^exponent.
struct Parts {
    std::uint64_t mantissa;
    int exponent;
    bool negative;
};

/// The parts of a finite x, for every T that has a Format of at most 64 bits.
template <class T>
[[nodiscard]] constexpr Parts parts(T x) noexcept {
    using F = fp::Format<T>;
    constexpr int fraction_bits = F::precision - 1;
    constexpr int exponent_bits = 8 * static_cast<int>(sizeof(T)) - F::precision;
    const std::uint64_t bits = fp::to_bits(x);
    const std::uint64_t field = (bits >> fraction_bits) & ((std::uint64_t{1} << exponent_bits) - 1);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
    const std::uint64_t hidden = field != 0;
    return {fraction | hidden << fraction_bits, F::min_exponent + static_cast<int>(field - hidden), fp::is_negative(x)};
}

using fp::is_finite;

/// x·2^1074 as an integer. x must be finite.
[[nodiscard]] cpp_int scaled_value(const Parts& x);
template <class T>
[[nodiscard]] cpp_int scaled_value(T x) {
    return scaled_value(parts(x));
}

/// The exact sum of any numbers of any mix of formats that fit in binary64. Positive and negative
/// terms are summed apart, so that Σ|x| (the condition number and every error bound need it) costs
/// nothing extra. Any order of add() gives the same state. Products would need a FixedPoint<-2148,
/// 2048> of their own.
class ExactSum {
  public:
    static constexpr int lowest_exponent = -1074; ///< scaled() counts in units of 2^lowest_exponent

    template <class T>
    void add(T x) noexcept {
        ++count_;
        not_negative_zero_ |= static_cast<std::uint64_t>(fp::to_bits(x) ^ fp::sign_mask<T>);
        if (!is_finite(x)) return add_special(fp::is_nan(x), fp::is_negative(x));
        const Parts p = parts(x);
        side_[p.negative].add(p.mantissa, p.exponent);
    }
    template <class T>
    void add(std::span<const T> xs) noexcept {
        for (const T x : xs)
            add(x);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] bool has_nan() const noexcept { return nan_; }
    [[nodiscard]] bool has_infinity(bool negative) const noexcept { return infinity_[negative]; }
    /// No input was NaN or infinite: only then do scaled() and scaled_abs() describe the whole
    /// input.
    [[nodiscard]] bool all_finite() const noexcept { return !nan_ && !infinity_[0] && !infinity_[1]; }
    [[nodiscard]] bool all_negative_zero() const noexcept { return count_ != 0 && not_negative_zero_ == 0; }

    /// Σx·2^1074 and Σ|x|·2^1074 over the finite inputs.
    [[nodiscard]] cpp_int scaled() const;
    [[nodiscard]] cpp_int scaled_abs() const;

    /// The sum, rounded once to nearest, ties to even. NaN among the inputs, or infinities of both
    /// signs: the canonical NaN.
    /// Infinities of one sign: that infinity. A sum beyond the format: ±inf. Exactly zero, or no
    /// input: +0, but −0 when every input was −0.
    template <class T>
    [[nodiscard]] T round() const {
        if (nan_ || (infinity_[0] && infinity_[1])) return fp::from_bits<T>(fp::Format<T>::canonical_nan);
        // Any integer this long overflows any format.
        if (infinity_[0] || infinity_[1]) return round_scaled<T>(infinity_[1] ? cpp_int(-1) : cpp_int(1), 1 << 20);
        if (all_negative_zero()) return fp::from_bits<T>(fp::sign_mask<T>);
        return round_scaled<T>(scaled(), lowest_exponent);
    }

  private:
    void add_special(bool nan, bool negative) noexcept {
        nan_ = nan_ || nan;
        infinity_[negative] = infinity_[negative] || !nan;
    }

    FixedPoint<lowest_exponent, 1024> side_[2]; // [0] sums the positive terms, [1] the magnitudes of the negative ones
    std::uint64_t count_ = 0;
    std::uint64_t not_negative_zero_ = 0; // the bits in which any input differed from −0
    bool nan_ = false;
    bool infinity_[2] = {false, false}; // [0] +inf, [1] −inf
};

/// The exact sum of a sequence, and the correctly rounded one.
template <class T>
[[nodiscard]] ExactSum exact_sum(std::span<const T> xs) noexcept {
    ExactSum sum;
    sum.add(xs);
    return sum;
}
template <class T>
[[nodiscard]] T correctly_rounded_sum(std::span<const T> xs) {
    return exact_sum(xs).template round<T>();
}

} // namespace detreduce::accuracy
