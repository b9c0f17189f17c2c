// How far a result is from another result or from the exact sum, and how many different results
// there were.
#pragma once

#include <cstdint>
#include <limits>
#include <map>

#include <detreduce/accuracy/oracle.hpp>

namespace detreduce::accuracy {

/// Place of x on the line of all non-NaN numbers in ascending order, −0 just below +0: neighbours
/// differ by 1.
template <class T>
[[nodiscard]] constexpr std::int64_t place_on_line(T x) noexcept {
    const auto magnitude = static_cast<std::int64_t>(fp::magnitude_bits(x));
    return fp::is_negative(x) ? -1 - magnitude : magnitude;
}

/// How many steps to the neighbouring number lead from a to b: 0 exactly when the bits agree (−0
/// and +0 are one step apart, and so are the largest finite number and infinity). Two NaNs are 0
/// apart whatever their bits; a NaN and a number, 2^64 − 1.
template <class T>
[[nodiscard]] constexpr std::uint64_t ulp_distance(T a, T b) noexcept {
    const bool a_is_nan = fp::is_nan(a), b_is_nan = fp::is_nan(b);
    if (a_is_nan || b_is_nan) return a_is_nan && b_is_nan ? 0 : std::numeric_limits<std::uint64_t>::max();
    const std::int64_t i = place_on_line(a), j = place_on_line(b);
    return i < j ? static_cast<std::uint64_t>(j) - static_cast<std::uint64_t>(i)
                 : static_cast<std::uint64_t>(i) - static_cast<std::uint64_t>(j);
}

/// What an error metric says when the result or the exact sum is not finite: 0 if the result is
/// what SPEC.md asks for, else +inf.
template <class T>
[[nodiscard]] double error_of_special(T result, const ExactSum& exact) {
    return ulp_distance(result, exact.round<T>()) == 0 ? 0.0 : std::numeric_limits<double>::infinity();
}

/// |result − exact| in units of the last place that T has at the exact sum: at most 0.5 for a
/// correctly rounded result (the last place of a sum beyond the format is that of its own binade,
/// and of a zero sum the smallest subnormal).
template <class T>
[[nodiscard]] double error_in_ulps(T result, const ExactSum& exact) {
    using F = fp::Format<T>;
    if (!is_finite(result) || !exact.all_finite()) return error_of_special(result, exact);
    const cpp_int sum = exact.scaled();
    const cpp_int error = abs(cpp_int(scaled_value(result) - sum));
    const int length = sum == 0 ? 0 : static_cast<int>(msb(cpp_int(abs(sum)))) + 1;
    const int unit = std::max(length - F::precision, F::min_exponent - ExactSum::lowest_exponent);
    return round_scaled<double>(error, -unit);
}

/// |result − exact| / |exact|, correctly rounded. 0/0 is 0; anything else over 0 is +inf.
template <class T>
[[nodiscard]] double relative_error(T result, const ExactSum& exact) {
    if (!is_finite(result) || !exact.all_finite()) return error_of_special(result, exact);
    const cpp_int sum = exact.scaled();
    const cpp_int error = abs(cpp_int(scaled_value(result) - sum));
    if (error == 0) return 0.0;
    return sum == 0 ? std::numeric_limits<double>::infinity() : round_quotient(error, abs(sum));
}

/// Σ|x| / |Σx|, correctly rounded: by how much a sum magnifies relative errors of its terms. +inf
/// when the sum is zero, NaN when an input is NaN or infinite.
[[nodiscard]] inline double condition_number(const ExactSum& exact) {
    if (!exact.all_finite()) return std::numeric_limits<double>::quiet_NaN();
    const cpp_int sum = exact.scaled();
    return sum == 0 ? std::numeric_limits<double>::infinity() : round_quotient(exact.scaled_abs(), abs(sum));
}

/// The different results of repeated runs, counted by their bits: NaNs with different bits are
/// different results.
template <class T>
class BitPatterns {
  public:
    void add(T result) { ++counts_[fp::to_bits(result)]; }

    [[nodiscard]] std::size_t distinct() const noexcept { return counts_.size(); }
    [[nodiscard]] std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& [bits, count] : counts_)
            sum += count;
        return sum;
    }
    /// Bits → how often; ascending bits.
    [[nodiscard]] const std::map<fp::Bits<T>, std::uint64_t>& counts() const noexcept { return counts_; }

    /// The largest ulp_distance of any two results; 0 with fewer than two.
    [[nodiscard]] std::uint64_t max_ulp_distance() const noexcept {
        bool nan = false, number = false;
        T lowest{}, highest{};
        for (const auto& [bits, count] : counts_) {
            const T x = fp::from_bits<T>(bits);
            if (fp::is_nan(x)) {
                nan = true;
                continue;
            }
            if (!number || place_on_line(x) < place_on_line(lowest)) lowest = x;
            if (!number || place_on_line(x) > place_on_line(highest)) highest = x;
            number = true;
        }
        return nan && number ? std::numeric_limits<std::uint64_t>::max() : ulp_distance(lowest, highest);
    }

  private:
    std::map<fp::Bits<T>, std::uint64_t> counts_;
};

} // namespace detreduce::accuracy
