// How far the methods' sums are from the exact one, and how far they may be: for generated data and
// for the user's own.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/metrics.hpp>

#include "measure.hpp"
#include "own.hpp"

namespace detreduce::report {

struct Contender {
    Method method;
    Device device;
    const OwnReduction* own = nullptr; ///< `method` says how it may overflow: in whatever order
    [[nodiscard]] std::string label() const { return own ? own->name : std::string(name(method)); }
};

/// Each method where it is under test, or on the CPU when the GPU does not offer it; and reductions
/// of somebody's own, where they give that output.
[[nodiscard]] std::vector<Contender> contenders(const Options& options, DType dtype, DType output);

/// What the result may be away from the exact sum; nothing where it may overflow, since then
/// nothing is promised. In units of 2^(2·lowest_exponent), as accuracy::scaled_limit gives it.
[[nodiscard]] std::optional<accuracy::cpp_int> limit_of(const Contender& c, DType input, DType output,
                                                        const accuracy::ExactSum& exact);

/// part / whole of magnitudes: 0/0 is 0, anything else over 0 is +inf.
[[nodiscard]] double quotient(const accuracy::cpp_int& part, const accuracy::cpp_int& whole);

/// Takes one more result into the row, which keeps the worst of all.
template <class Out>
void take_error(ErrorRow& row, Out result, const accuracy::ExactSum& exact,
                const std::optional<accuracy::cpp_int>& limit) {
    using accuracy::cpp_int;
    constexpr unsigned scale = -accuracy::ExactSum::lowest_exponent;
    row.correctly_rounded += fp::to_bits(result) == fp::to_bits(exact.round<Out>());
    const auto larger = [](const Metric& old, double value) { return old ? std::max(*old, value) : value; };
    row.error_ulp = larger(row.error_ulp, accuracy::error_in_ulps(result, exact));
    if (limit) {
        const cpp_int error = accuracy::is_finite(result)
                                  ? abs(cpp_int(accuracy::scaled_value(result) - exact.scaled())) << scale
                                  : cpp_int(0);
        row.error_over_bound =
            larger(row.error_over_bound, accuracy::is_finite(result) ? quotient(error, *limit) : INFINITY);
    }
    const double relative = accuracy::relative_error(result, exact);
    if (row.relative_error && relative <= *row.relative_error) return;
    row.relative_error = relative;
    row.condition = accuracy::condition_number(exact);
    row.bound = limit ? Metric(quotient(*limit, abs(exact.scaled()) << scale)) : Metric();
}

} // namespace detreduce::report
