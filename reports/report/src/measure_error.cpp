// Section 1: each method on each family of data against the oracle.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

#include "failure.hpp"
#include "measure.hpp"
#include "runner.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

using accuracy::cpp_int;
using accuracy::ExactSum;
using accuracy::Family;

// Positive data of condition number 1, where all of the error is the method's: drawn against n, so measured at more
// sizes.
constexpr Family plotted = Family::lognormal;

// Ill-conditioned sums of this many elements, one condition number after the other: drawn against that.
constexpr int sweep_exponent = 12;

struct Point {
    Family family;
    std::string name;
    int exponent; // n = 2^exponent
    int trials;
    double condition = accuracy::Params{}.condition;
};

// As far as the elements' exponents reach (accuracy/generators.hpp).
double largest_condition(DType dtype) {
    return dtype == DType::f16 ? 1e10 : 1e30;
}

std::vector<Point> points(bool quick, DType dtype) {
    std::vector<Point> list;
    for (const Family family : accuracy::families()) {
        if (family == Family::nonfinite) continue; // NaN and infinities have no error; the tests check them
        const int last = family == plotted ? (quick ? 22 : 26) : (quick ? 20 : 24);
        for (int exponent = 4; exponent <= last; exponent += family == plotted ? 2 : 4)
            list.push_back({family, std::string(accuracy::name(family)), exponent, quick ? 3 : exponent <= 20 ? 8 : 2});
    }
    for (double condition = 1; condition <= 1.01 * largest_condition(dtype); condition *= 100)
        list.push_back({Family::ill_conditioned, condition_sweep, sweep_exponent, quick ? 3 : 8, condition});
    return list;
}

struct Contender {
    Method method;
    Device device;
};

// Each method where it is under test, or on the CPU when the GPU does not offer it.
std::vector<Contender> contenders(const Options& options) {
    std::vector<Contender> list;
    for (const auto& [method, device] : placed_methods(options))
        list.push_back({method, device});
    return list;
}

// What the result may be away from the exact sum; nothing where it may overflow, since then nothing is promised. In units of
// 2^(2·lowest_exponent), as accuracy::scaled_limit gives it.
std::optional<cpp_int> limit_of(const Contender& c, DType input, DType output, const ExactSum& exact) {
    const std::uint64_t n = exact.count();
    const accuracy::ErrorBound bound = accuracy::error_bound(c.method, input, output, n);
    if (!accuracy::cannot_overflow(exact, c.method, input, output) || !std::isfinite(bound.of_abs)) return std::nullopt;
    // what a GPU's atomics lose by flushing subnormals
    const double flushed = c.device.backend == Backend::cuda ? accuracy::flush_bound(c.method, input, n) : 0;
    return accuracy::scaled_limit(bound, exact, flushed);
}

double quotient(const cpp_int& part, const cpp_int& whole) {
    return part == 0 ? 0 : whole == 0 ? INFINITY : accuracy::round_quotient(part, whole);
}

constexpr unsigned scale = -ExactSum::lowest_exponent;

template <class Out>
void take_error(ErrorRow& row, Out result, const ExactSum& exact, const std::optional<cpp_int>& limit) {
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

// One row a method.
template <class T, class Out>
std::vector<ErrorRow> empty_rows(const Point& point, const std::vector<Contender>& list) {
    std::vector<ErrorRow> rows;
    for (const Contender& c : list) {
        ErrorRow& row = rows.emplace_back();
        row.subject.dtype = name(dtype_of<T>);
        row.subject.output = name(dtype_of<Out>);
        row.subject.method = name(c.method);
        row.subject.device = name_of(c.device);
        row.family = point.name;
        row.n = std::uint64_t{1} << point.exponent;
        row.trials = point.trials;
    }
    return rows;
}

template <class T, class Out>
void take_errors(const std::vector<Contender>& list, std::span<const T> data, const ExactSum& exact,
                 std::vector<ErrorRow>& rows) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Job job{.method = list[i].method, .device = list[i].device, .launch = {}};
        take_error(rows[i], results_of<T, Out>(job, data).front(), exact,
                   limit_of(list[i], dtype_of<T>, dtype_of<Out>, exact));
    }
}

// 16-bit elements are summed to 16 bits, as a drop-in sum would be, and to f32, where what the methods do shows.
template <class T>
void measure_point(const Options& options, const Point& point, const Progress& progress, std::vector<ErrorRow>& rows) {
    constexpr bool narrow = sizeof(T) == 2;
    const std::vector<Contender> list = contenders(options);
    std::vector<ErrorRow> same = empty_rows<T, T>(point, list), wide = empty_rows<T, float>(point, list);
    for (int trial = 0; trial < point.trials; ++trial) {
        progress.check_interrupt(); // the largest take seconds
        const std::uint64_t seed = accuracy::hash(options.seed, static_cast<std::uint64_t>(trial));
        const std::vector<T> data =
            accuracy::generate<T>(point.family, std::size_t{1} << point.exponent, seed, {.condition = point.condition});
        const ExactSum exact = accuracy::exact_sum(std::span<const T>(data));
        take_errors<T, T>(list, data, exact, same);
        if constexpr (narrow) take_errors<T, float>(list, data, exact, wide);
    }
    rows.insert(rows.end(), same.begin(), same.end());
    if (narrow) rows.insert(rows.end(), wide.begin(), wide.end());
}

void measure_point(const Options& options, DType dtype, const Point& point, const Progress& progress,
                   std::vector<ErrorRow>& rows) {
    switch (dtype) {
    case DType::f16:
        return measure_point<float16>(options, point, progress, rows);
    case DType::bf16:
        return measure_point<bfloat16>(options, point, progress, rows);
    case DType::f32:
        return measure_point<float>(options, point, progress, rows);
    case DType::f64:
        return measure_point<double>(options, point, progress, rows);
    }
}

} // namespace

void measure_error(const Options& options, Progress& progress, Results& results) {
    const auto work = [](DType dtype, const Point& point) { // elements, and what a sum costs without any
        return point.trials * (4096 + std::exp2(point.exponent)) * (size_of(dtype) == 2 ? 2 : 1);
    };
    double all = 0;
    int steps = 0;
    for (const DType dtype : dtypes())
        for (const Point& point : points(options.quick, dtype))
            all += work(dtype, point), ++steps;
    progress.begin("error", steps, all);
    for (const DType dtype : dtypes()) {
        for (const Point& point : points(options.quick, dtype)) {
            const std::string what = fmt::format("{} {} n = 2^{}", name(dtype), point.name, point.exponent);
            progress.step(what, work(dtype, point));
            try {
                measure_point(options, dtype, point, progress, results.error);
            } catch (const program::OutOfMemory& error) {
                results.provenance.notes.push_back(
                    fmt::format("The error of {} was left out: {}.", what, error.what()));
            }
        }
    }
}

} // namespace detreduce::report
