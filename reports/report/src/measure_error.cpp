// Section 1: each method on each family of data against the oracle.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

#include "measure.hpp"
#include "runner.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

using accuracy::ExactSum;
using accuracy::Family;

// Positive data of condition number 1, where all of the error is the method's: drawn against n, so measured at more
// sizes.
constexpr Family plotted = Family::lognormal;

struct Point {
    Family family;
    int exponent; // n = 2^exponent
    int trials;
};

std::vector<Point> points(bool quick) {
    std::vector<Point> list;
    for (const Family family : accuracy::families()) {
        if (family == Family::nonfinite) continue; // NaN and infinities have no error; the tests check them
        const int last = family == plotted ? (quick ? 22 : 26) : (quick ? 20 : 24);
        for (int exponent = 4; exponent <= last; exponent += family == plotted ? 2 : 4)
            list.push_back({family, exponent, quick ? 3 : exponent <= 20 ? 8 : 2});
    }
    return list;
}

struct Contender {
    Method method;
    Device device;
};

// Each method where it is under test, or on the CPU when the GPU does not offer it.
std::vector<Contender> contenders(const Options& options) {
    std::vector<Contender> list;
    for (const MethodInfo& m : methods()) {
        const bool on_gpu = options.device.backend == Backend::cuda && m.on_cuda;
        if (on_gpu || m.on_cpu) list.push_back({m.method, on_gpu ? options.device : Device{}});
    }
    return list;
}

// |result − exact| / (bound · Σ|x|), also where the exact sum is zero.
template <class T>
double share_of_bound(T result, const ExactSum& exact, double bound) {
    if (!accuracy::is_finite(result)) return INFINITY;
    const accuracy::cpp_int error = abs(accuracy::cpp_int(accuracy::scaled_value(result) - exact.scaled()));
    if (error == 0) return 0;
    return accuracy::round_quotient(error, exact.scaled_abs()) / bound;
}

// In units of Σ|x|. What a GPU's atomics lose by flushing subnormals is absolute, so it depends on the data.
template <class T>
double bound_of(const Contender& c, const ExactSum& exact, std::size_t n) {
    const double rounding = accuracy::error_bound(c.method, dtype_of<T>, n);
    const double flushed = c.device.backend == Backend::cuda ? accuracy::flush_bound(c.method, dtype_of<T>, n) : 0;
    if (flushed == 0 || exact.scaled_abs() == 0) return rounding;
    return rounding + flushed / accuracy::round_scaled<double>(exact.scaled_abs(), ExactSum::lowest_exponent);
}

template <class T>
void take_worst(ErrorRow& row, T result, const ExactSum& exact, double bound) {
    row.error_over_bound = std::max(row.error_over_bound.value_or(0), share_of_bound(result, exact, bound));
    const double relative = accuracy::relative_error(result, exact);
    if (row.relative_error && relative <= *row.relative_error) return;
    const double condition = accuracy::condition_number(exact);
    row.relative_error = relative;
    row.error_ulp = accuracy::error_in_ulps(result, exact);
    row.condition = condition;
    row.bound = bound == 0 ? 0 : bound * condition;
}

template <class T>
void measure_point(const Options& options, const Point& point, std::vector<ErrorRow>& rows) {
    const std::size_t n = std::size_t{1} << point.exponent;
    const std::vector<Contender> list = contenders(options);
    const std::size_t first = rows.size();
    for (const Contender& c : list) {
        ErrorRow& row = rows.emplace_back();
        row.subject.dtype = name(dtype_of<T>);
        row.subject.method = name(c.method);
        row.subject.device = name_of(c.device);
        row.family = accuracy::name(point.family);
        row.n = n;
        row.trials = point.trials;
    }
    for (int trial = 0; trial < point.trials; ++trial) {
        const std::uint64_t seed = accuracy::hash(options.seed, static_cast<std::uint64_t>(trial));
        const std::vector<T> data = accuracy::generate<T>(point.family, n, seed);
        const ExactSum exact = accuracy::exact_sum(std::span<const T>(data));
        for (std::size_t i = 0; i < list.size(); ++i) {
            Job job{.method = list[i].method, .device = list[i].device, .launch = {}};
            const T result = results_of(job, std::span<const T>(data)).front();
            take_worst(rows[first + i], result, exact, bound_of<T>(list[i], exact, n));
        }
    }
}

} // namespace

std::vector<ErrorRow> measure_error(const Options& options, Progress& progress) {
    const std::vector<Point> list = points(options.quick);
    progress.begin("error", static_cast<int>(2 * list.size()));
    std::vector<ErrorRow> rows;
    for (const DType dtype : {DType::f32, DType::f64}) {
        for (const Point& point : list) {
            progress.step(fmt::format("{} {} n = 2^{}", name(dtype), accuracy::name(point.family), point.exponent));
            if (dtype == DType::f32)
                measure_point<float>(options, point, rows);
            else
                measure_point<double>(options, point, rows);
        }
    }
    return rows;
}

} // namespace detreduce::report
