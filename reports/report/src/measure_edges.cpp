// Section 2: sums on which a method shows whether it keeps what IEEE 754 promises of an addition.
// Each has few elements or equal ones, so that anybody can say what the answer is.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <detreduce/accuracy/oracle.hpp>

#include "gpu.hpp"
#include "measure.hpp"
#include "out_of_memory.hpp"
#include "own.hpp"
#include "peers.hpp"
#include "runner.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

template <class T>
struct Case {
    const char* name;
    std::vector<T> data;
};

template <class T>
std::vector<T> ones_and(T other) {
    std::vector<T> data(1000, T(1));
    data[500] = other;
    return data;
}

std::vector<Case<float>> cases(float) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    return {{"1 000 000 zeros", std::vector<float>(1'000'000, 0.0f)},
            {"1000 times -0", std::vector<float>(1000, -0.0f)},
            {"1000 times 1e-37", std::vector<float>(1000, 1e-37f)},
            {"999 ones and +inf", ones_and(inf)},
            {"999 ones and NaN", ones_and(nan)},
            {"+inf and -inf", {inf, -inf}}};
}

// `first` 1000 times, then `second` 999 times.
std::vector<double> runs_of(double first, double second) {
    std::vector<double> data(1999, second);
    std::fill_n(data.begin(), 1000, first);
    return data;
}

// 1e100 + 1 − 1e100 over and over: so few terms as three may meet in an order that happens to be
// kind.
std::vector<double> repeated(const std::vector<double>& terms, std::size_t times) {
    std::vector<double> data;
    for (std::size_t i = 0; i < times; ++i)
        data.insert(data.end(), terms.begin(), terms.end());
    return data;
}

std::vector<Case<double>> cases(double) {
    return {{"1e300 + 1e300", {1e300, 1e300}},
            {"1e100 + 1 - 1e100", {1e100, 1, -1e100}},
            {"1e308 + 1e308 - 1e308", {1e308, 1e308, -1e308}},
            {"1000 times (1e100 + 1 - 1e100)", repeated({1e100, 1, -1e100}, 1000)},
            {"1000 times 1e308, 999 times -1e308", runs_of(1e308, -1e308)}};
}

template <class T>
bool same_value(T a, T b) {
    return fp::to_bits(a) == fp::to_bits(b) || (fp::is_nan(a) && fp::is_nan(b));
}

template <class T>
class CaseRows {
  public:
    CaseRows(const Case<T>& which, std::vector<EdgeRow>& rows)
        : case_(which), exact_(accuracy::correctly_rounded_sum(std::span<const T>(which.data))), rows_(rows) {}

    void measured(std::string_view candidate, const Device& device, T result) {
        rows_.push_back({case_.name, std::string(name(dtype_of<T>)), case_.data.size(), exact_decimal(exact_),
                         std::string(candidate), name_of(device), exact_decimal(result), same_value(result, exact_)});
    }

  private:
    const Case<T>& case_;
    T exact_;
    std::vector<EdgeRow>& rows_;
};

template <class T>
void measure_case(const Options& options, const Case<T>& which, std::vector<EdgeRow>& all) {
    const std::span<const T> data(which.data);
    CaseRows<T> rows(which, all);
    for (const auto& [method, device] : placed_methods(options))
        rows.measured(name(method), device, results_of(Job{.method = method, .device = device, .launch = {}}, data)[0]);
    for (const OwnReduction* own : own_here(options, dtype_of<T>)) {
        const Device device = device_of(*own, options);
        rows.measured(own->name, device, results_of(Job{.device = device, .launch = {}, .own = own}, data)[0]);
    }
    for (const Device& device : devices_of(options)) {
        if (device.backend != Backend::cuda) continue;
        T result{};
        gpu::cub_sum(device, input_of(data), &result);
        rows.measured(cub_name, device, result);
    }
}

template <class T>
void measure_cases(const Options& options, Results& results) {
    if (!is_measured(options, dtype_of<T>)) return;
    for (const Case<T>& which : cases(T()))
        unless_out_of_memory(results, fmt::format("Part of the edge case '{}'", which.name),
                             [&] { measure_case(options, which, results.edges); });
}

} // namespace

void measure_edges(const Options& options, Progress& progress, Results& results) {
    progress.begin("edge cases", 1);
    progress.step("");
    measure_cases<float>(options, results);
    measure_cases<double>(options, results);
}

} // namespace detreduce::report
