// Section 1: each method on each family of data against the oracle.
#include <fmt/format.h>

#include <detreduce/accuracy/generators.hpp>

#include "measure.hpp"
#include "out_of_memory.hpp"
#include "own.hpp"
#include "runner.hpp"
#include "sum_error.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

using accuracy::ExactSum;
using accuracy::Family;

// Positive data of condition number 1, where all of the error is the method's: drawn against n, so
// measured at more sizes.
constexpr Family plotted = Family::lognormal;

// Ill-conditioned sums of this many elements, one condition number after the other: drawn against
// that.
constexpr int sweep_exponent = 12;

struct Point {
    Family family;
    std::string name;
    int exponent; // n = 2^exponent
    int trials;
    double condition = accuracy::Params{}.condition;
};

// Condition numbers from 1 on, each so many times the one before: to where twice the digits of the
// arithmetic are used up, and beyond, as far as the elements' exponents reach
// (accuracy/generators.hpp).
struct Sweep {
    double factor, last;
};
Sweep condition_sweep_of(DType dtype) {
    if (dtype == DType::f64) return {1e3, 1e45};
    return {1e2, dtype == DType::f16 ? 1e10 : 1e30};
}

std::vector<Point> points(const Options& options, DType dtype) {
    const bool quick = options.quick;
    std::vector<Point> list;
    for (const Family family : accuracy::families()) {
        if (family == Family::nonfinite) continue; // NaN and infinities have no error; the tests check them
        const int last = family == plotted ? (quick ? 22 : 26) : (quick ? 20 : 24);
        for (int exponent = 4; exponent <= last; exponent += family == plotted ? 2 : 4)
            list.push_back({family, std::string(accuracy::name(family)), exponent, quick ? 3 : exponent <= 20 ? 8 : 2});
    }
    const Sweep sweep = condition_sweep_of(dtype);
    for (double condition = 1; condition <= 1.01 * sweep.last; condition *= sweep.factor)
        list.push_back({Family::ill_conditioned, condition_sweep, sweep_exponent, quick ? 3 : 8, condition});
    std::erase_if(list, [&](const Point& p) { return std::uint64_t{1} << p.exponent > options.largest_n; });
    return list;
}

// One row a method.
template <class T, class Out>
std::vector<ErrorRow> empty_rows(const Point& point, const std::vector<Contender>& list) {
    std::vector<ErrorRow> rows;
    for (const Contender& c : list) {
        ErrorRow& row = rows.emplace_back();
        row.subject.dtype = name(dtype_of<T>);
        row.subject.output = name(dtype_of<Out>);
        row.subject.method = c.label();
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
        const Job job{.method = list[i].method, .device = list[i].device, .launch = {}, .own = list[i].own};
        take_error(rows[i], results_of<T, Out>(job, data).front(), exact,
                   limit_of(list[i], dtype_of<T>, dtype_of<Out>, exact));
    }
}

// 16-bit elements are summed to 16 bits, as a drop-in sum would be, and to f32, where what the
// methods do shows.
template <class T>
void measure_point(const Options& options, const Point& point, const Progress& progress, std::vector<ErrorRow>& rows) {
    constexpr bool narrow = fp::is_narrow<T>;
    const std::vector<Contender> to_same = contenders(options, dtype_of<T>, dtype_of<T>),
                                 to_wide = contenders(options, dtype_of<T>, DType::f32);
    std::vector<ErrorRow> same = empty_rows<T, T>(point, to_same), wide = empty_rows<T, float>(point, to_wide);
    for (int trial = 0; trial < point.trials; ++trial) {
        progress.check_interrupt(); // the largest take seconds
        const std::uint64_t seed = accuracy::hash(options.seed, static_cast<std::uint64_t>(trial));
        const std::vector<T> data =
            accuracy::generate<T>(point.family, std::size_t{1} << point.exponent, seed, {.condition = point.condition});
        const ExactSum exact = accuracy::exact_sum(std::span<const T>(data));
        take_errors<T, T>(to_same, data, exact, same);
        if constexpr (narrow) take_errors<T, float>(to_wide, data, exact, wide);
    }
    rows.insert(rows.end(), same.begin(), same.end());
    if (narrow) rows.insert(rows.end(), wide.begin(), wide.end());
}

void measure_point(const Options& options, DType dtype, const Point& point, const Progress& progress,
                   std::vector<ErrorRow>& rows) {
    with_dtype_from_16_bits(dtype, [&]<class T>(T) { measure_point<T>(options, point, progress, rows); });
}

} // namespace

void measure_error(const Options& options, Progress& progress, Results& results) {
    const auto work = [](DType dtype, const Point& point) { // elements, and what a sum costs without any
        return point.trials * (4096 + std::exp2(point.exponent)) * (is_narrow(dtype) ? 2 : 1);
    };
    const std::vector<DType> dtypes = measured_dtypes(options);
    double all = 0;
    int steps = 0;
    for (const DType dtype : dtypes)
        for (const Point& point : points(options, dtype))
            all += work(dtype, point), ++steps;
    progress.begin("error", steps, all);
    for (const DType dtype : dtypes) {
        for (const Point& point : points(options, dtype)) {
            const std::string what = fmt::format("{} {} n = 2^{}", name(dtype), point.name, point.exponent);
            progress.step(what, work(dtype, point));
            unless_out_of_memory(results, fmt::format("The error of {}", what),
                                 [&] { measure_point(options, dtype, point, progress, results.error); });
        }
    }
}

} // namespace detreduce::report
