// The oracle of mean and variance: what they are of any elements, without any rounding but the
// last.
#pragma once

#include <cstdint>
#include <span>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/accuracy/term_oracle.hpp>

namespace detreduce::accuracy {

class MomentsOracle {
  public:
    template <class T>
    void add(std::span<const T> xs) {
        for (const T x : xs) {
            const double wide = fp::widen(x);
            sum_.add(wide);
            mean_.add(wide, 0);
            if (is_finite(wide)) squares_.add(wide, 0);
        }
    }

    [[nodiscard]] bool all_finite() const noexcept { return sum_.all_finite(); }
    [[nodiscard]] std::uint64_t count() const noexcept { return sum_.count(); }

    /// n·Σx² − (Σx)² in units of 2^−2148: n·M2, and not below zero. All of this is of finite
    /// elements.
    [[nodiscard]] cpp_int spread() const;
    /// M2 = Σ(x − mean)², Σx², |Σx| and Σ|x| as the nearest doubles: what the bounds need.
    [[nodiscard]] double m2() const;
    [[nodiscard]] double sum_of_squares() const;
    [[nodiscard]] double abs_sum() const;
    /// Σx / n as the nearest double.
    [[nodiscard]] double mean() const { return mean_.round<double>(Finalize::mean); }

    /// Rounded once to nearest, ties to even. Special values: lib/SPEC.md, section 12.
    template <class T>
    [[nodiscard]] T round_mean() const {
        return mean_.round<T>(Finalize::mean);
    }
    template <class T>
    [[nodiscard]] T round_variance(std::uint64_t ddof, bool root) const {
        if (!all_finite()) return fp::from_bits<T>(fp::Format<T>::canonical_nan);
        return fp::from_bits<T>(static_cast<fp::Bits<T>>(variance_bits(ddof, root, layout<T>)));
    }

  private:
    [[nodiscard]] std::uint64_t variance_bits(std::uint64_t ddof, bool root, const Layout& format) const;

    ExactSum sum_;
    TermOracle mean_{Transform::element}, squares_{Transform::square};
};

} // namespace detreduce::accuracy
