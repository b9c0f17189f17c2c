// The user's own numbers: what they are, and what each method makes of their sum.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <detreduce/fp/convert.hpp>

#include "failure.hpp"
#include "golden/fingerprint.hpp"
#include "measure.hpp"
#include "number_text.hpp"
#include "runner.hpp"
#include "sum_error.hpp"

namespace detreduce::report {
namespace {

using accuracy::ExactSum;

struct Range {
    double least = INFINITY, greatest = -INFINITY, smallest = INFINITY;
    std::int64_t nans = 0, infinities = 0;
    void take(double x) {
        if (!std::isfinite(x)) {
            ++(std::isnan(x) ? nans : infinities);
            return;
        }
        least = std::min(least, x);
        greatest = std::max(greatest, x);
        if (x != 0) smallest = std::min(smallest, std::fabs(x));
    }
};

// Elements are widened without rounding, so the way back is exact.
template <class T>
std::string text_of(double element) {
    return std::isfinite(element) ? program::shortest_decimal(fp::round_to<T>(element)) : "";
}

template <class T>
DataRow describe(const std::string& file, std::span<const T> data, const ExactSum& exact) {
    Range range;
    std::uint64_t fingerprint = golden::empty_fingerprint;
    for (const T x : data) {
        range.take(fp::widen(x));
        fingerprint = golden::fingerprint_with(fingerprint, fp::to_bits(x), sizeof x);
    }
    return {file,
            std::string(name(dtype_of<T>)),
            data.size(),
            fmt::format("{:016x}", fingerprint),
            text_of<T>(range.least),
            text_of<T>(range.greatest),
            text_of<T>(range.smallest),
            range.nans,
            range.infinities,
            program::shortest_decimal(exact.round<double>()),
            exact.all_finite() && !data.empty() ? Metric(accuracy::condition_number(exact)) : Metric()};
}

template <class T, class Out>
DataSumRow sum_by(const Contender& c, const std::string& file, std::span<const T> data, const ExactSum& exact) {
    const Out result =
        results_of<T, Out>(Job{.method = c.method, .device = c.device, .launch = {}, .own = c.own}, data).front();
    const bool finite = exact.all_finite(); // else there is nothing to be near to
    ErrorRow error;
    take_error(error, result, exact, finite ? limit_of(c, dtype_of<T>, dtype_of<Out>, exact) : std::nullopt);
    if (!finite) error.error_ulp = error.relative_error = std::nullopt;
    return {file,
            {.dtype = std::string(name(dtype_of<T>)),
             .output = std::string(name(dtype_of<Out>)),
             .method = c.label(),
             .device = name_of(c.device)},
            program::shortest_decimal(result),
            program::bits_text(result),
            error.correctly_rounded == 1,
            error.error_ulp,
            error.relative_error,
            error.bound,
            error.error_over_bound};
}

template <class T>
void measure_file(const Options& options, const std::string& file, std::span<const T> data, Progress& progress,
                  Results& results) {
    progress.step(fmt::format("{} exactly", file));
    const ExactSum exact = accuracy::exact_sum(data);
    results.data.push_back(describe(file, data, exact));
    const auto sums_as = [&]<class Out>(Out) {
        for (const Contender& c : contenders(options, dtype_of<T>, dtype_of<Out>)) {
            if (c.own && data.empty()) continue; // study.hpp says that it gets one element at least
            progress.step(fmt::format("{} {}", file, c.label()));
            results.data_sums.push_back(sum_by<T, Out>(c, file, data, exact));
        }
    };
    sums_as(T{});
    if constexpr (fp::is_narrow<T>) sums_as(float{});
}

} // namespace

void measure_data(const Options& options, Progress& progress, Results& results) {
    std::size_t steps = 0;
    for (const DataFile& file : options.data) {
        const DType dtype = file.numbers.dtype, wide = accuracy::accumulator_of(dtype);
        steps += 1 + contenders(options, dtype, dtype).size();
        if (wide != dtype) steps += contenders(options, dtype, wide).size();
    }
    progress.begin("your data", static_cast<int>(steps));
    for (const DataFile& file : options.data) {
        try {
            with_dtype(file.numbers.dtype, [&]<class T>(T) {
                const auto* first = static_cast<const T*>(file.numbers.data);
                measure_file(options, file.name, std::span<const T>(first, file.numbers.n), progress, results);
            });
        } catch (const program::OutOfMemory& error) {
            results.provenance.notes.push_back(
                fmt::format("--data {}: not summed by every method: {}.", file.name, error.what()));
        } catch (const program::Failure& failure) {
            throw program::Failure(fmt::format("--data {}: {}", file.name, failure.what()));
        }
    }
}

} // namespace detreduce::report
