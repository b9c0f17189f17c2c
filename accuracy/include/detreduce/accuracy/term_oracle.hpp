// The oracle of the ops: what they make of any elements, without any rounding but the last.
#pragma once

#include <cstdint>
#include <span>

#include <detreduce/accuracy/fixed_point.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/accuracy/rounding.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/types.hpp>

namespace detreduce::accuracy {

/// The exact sum of the terms of an op, of elements of any format that double holds.
class TermOracle {
  public:
    /// scaled() counts in units of 2^lowest_exponent: the square of the smallest double.
    static constexpr int lowest_exponent = -2148;

    explicit TermOracle(Transform term) : term_(term) {}

    /// y means nothing to terms of one element.
    void add(double x, double y);
    template <class T>
    void add(std::span<const T> x, std::span<const T> y) {
        for (std::size_t i = 0; i < x.size(); ++i)
            add(fp::widen(x[i]), i < y.size() ? fp::widen(y[i]) : 0.0);
    }

    [[nodiscard]] bool all_finite() const noexcept { return !nan_ && !infinity_[0] && !infinity_[1]; }
    /// Σt and Σ|t| over the finite terms.
    [[nodiscard]] cpp_int scaled() const { return side_[0].scaled() - side_[1].scaled(); }
    [[nodiscard]] cpp_int scaled_abs() const;

    /// The finalize of the sum, rounded once to nearest, ties to even. Special values: lib/SPEC.md,
    /// section 8.
    template <class T>
    [[nodiscard]] T round(Finalize finalize) const {
        if (nan_ || (infinity_[0] && infinity_[1])) return fp::from_bits<T>(fp::Format<T>::canonical_nan);
        if (infinity_[0] || infinity_[1]) return round_scaled<T>(infinity_[1] ? cpp_int(-1) : cpp_int(1), 1 << 20);
        if (count_ > 0 && negative_zeros_ == count_) return fp::from_bits<T>(fp::sign_mask<T>);
        return fp::from_bits<T>(static_cast<fp::Bits<T>>(ended_bits(finalize, layout<T>)));
    }

  private:
    /// factor·x·y
    void add_product(double x, double y, int factor);
    [[nodiscard]] std::uint64_t ended_bits(Finalize finalize, const Layout& format) const;

    Transform term_;
    FixedPoint<lowest_exponent, 2050>
        side_[2]; // [0] sums the positive parts of terms, [1] the magnitudes of the negative ones
    std::uint64_t count_ = 0, negative_zeros_ = 0;
    bool nan_ = false;
    bool infinity_[2] = {false, false}; // [0] +inf, [1] −inf
};

} // namespace detreduce::accuracy
