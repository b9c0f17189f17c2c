// How far the results of ops other than the sum are from the true ones, whichever oracle knows
// these.
#pragma once

#include <functional>
#include <span>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/fp/convert.hpp>

#include "runner.hpp"
#include "sum_error.hpp"

namespace detreduce::report {

/// One result beside the true value.
struct Judged {
    double result; ///< of the output's dtype, f32 or f64
    double truth;  ///< the nearest double
    double error;  ///< |result − the true value|, not |result − truth|
    Metric limit;  ///< on the error, where anything is promised
    bool right;    ///< the true value, rounded once to the output
    Metric condition = {};
};

/// Takes one more result into the row, which keeps the worst of all.
void take_judged(ErrorRow& row, DType output, const Judged& judged);

/// What is measured: the op, its elements, and so many data sets of one kind.
struct OpPoint {
    std::string op, family;
    std::uint64_t n;
    int trials;
};
/// Judges what a method makes of one data set; nothing where the op does not offer the method.
using Judge = std::function<std::optional<Judged>(const Contender&)>;

/// One row for each method that the op offers; `draw` makes the data set of a seed.
[[nodiscard]] std::vector<ErrorRow> judged_rows(const Options& options, const OpPoint& point, DType input, DType output,
                                                const std::function<Judge(std::uint64_t)>& draw);

/// Is the plan good? False where its method is not offered; throws program::Failure where it is bad
/// for another reason.
[[nodiscard]] bool offered(const Status& status, std::string_view op);

/// The results of 16-bit elements are looked at as f32, where what the methods do shows.
template <class T>
using ResultOf = fp::Arithmetic<T>;

template <class T>
[[nodiscard]] HostArray array_of(const std::vector<T>& x) {
    return {x.data(), x.size() * sizeof(T)};
}
/// n elements around a number, `scale` times as far from it as those of the family are from 0.
template <class T>
[[nodiscard]] std::vector<T> moved(accuracy::Family family, std::size_t n, std::uint64_t seed, double to,
                                   double scale = 1) {
    std::vector<T> x;
    x.reserve(n);
    for (const double v : accuracy::generate<double>(family, n, seed))
        x.push_back(fp::round_to<T>(to + scale * v));
    return x;
}

/// For the figures of bounds, which are computed in binary64.
inline constexpr double rounded_up = 1 + 0x1p-40;
/// Half a unit in the last place of a number of 1, and the smallest subnormal.
struct Precision {
    double roundoff, smallest;
};
[[nodiscard]] Precision precision_of(DType dtype);
/// The unit in the last place of a number.
[[nodiscard]] double last_place(DType dtype, double at);
/// What a mean may be off by where the sum of its n terms, which are at most so far off, is divided
/// and rounded once (lib/SPEC.md, 8.2).
[[nodiscard]] double limit_of_mean(DType output, double mean, double off, std::uint64_t n);

/// The parts of measure_op_error(), each a row of steps of `progress`: ops that end a sum of terms,
/// and variance; logsumexp, cross entropy and losses with functions.
void measure_term_error(const Options& options, std::span<const DType> dtypes, Progress& progress, Results& results);
void measure_loss_error(const Options& options, std::span<const DType> dtypes, Progress& progress, Results& results);

/// Of 2^exponent, those that are not larger than options.largest_n.
[[nodiscard]] std::vector<int> sizes_up_to(const Options& options, std::vector<int> exponents);

} // namespace detreduce::report
