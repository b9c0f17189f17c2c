#include "error_charts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <detreduce/accuracy/bounds.hpp>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

// Half a unit in the last place of 1 in the type of the results.
double roundoff_of(const std::string& type) {
    const std::string output = type.substr(type.rfind(' ') + 1);
    return output == "f64"    ? 0x1p-53
           : output == "f32"  ? 0x1p-24
           : output == "f16"  ? 0x1p-11
           : output == "bf16" ? 0x1p-8
                              : 0;
}

// Smaller errors are drawn there.
double floor_of(const std::string& type) {
    return roundoff_of(type) / 8;
}

// What the charts show of a method that was measured on several devices: the one under test. The
// others are in the tables; a second line of the same colour would say nothing.
std::vector<ErrorRow> drawn_of(const Results& results, std::vector<ErrorRow> rows) {
    std::set<std::string> here;
    for (const ErrorRow& r : rows)
        if (r.subject.device == results.provenance.device) here.insert(r.subject.method);
    std::erase_if(rows, [&](const ErrorRow& r) {
        return r.subject.device != results.provenance.device && here.contains(r.subject.method);
    });
    return rows;
}

// What is to be expected rather than feared (accuracy/bounds.hpp): grows with √n where rounding
// errors are independent.
Metric expected_error(const ErrorRow& r) {
    const auto method = parse_method(r.subject.method);
    const auto input = parse_dtype(r.subject.dtype), output = parse_dtype(r.subject.output);
    if (!method || !input || !output || !r.condition || !r.bound) return {};
    const accuracy::ErrorBound expected = accuracy::probabilistic_bound(*method, *input, *output, r.n);
    const double relative = expected.of_sum + expected.of_abs * *r.condition;
    // only where it says something else than the bound
    return std::isfinite(relative) && relative < 0.9 * *r.bound ? Metric(relative) : Metric();
}

// Methods with the same line share it.
void add_shared(LineChart& c, std::vector<Series> lines, std::string_view prefix) {
    for (Series& line : lines) {
        const auto same = std::find_if(c.series.begin(), c.series.end(), [&](const Series& s) {
            return s.bound && s.style == line.style && s.points == line.points;
        });
        if (same != c.series.end())
            same->label += ", " + line.label.substr(prefix.size());
        else if (!line.points.empty())
            c.series.push_back(std::move(line));
    }
}

} // namespace

std::string plotted_family(const Results& results) {
    std::string best;
    std::size_t most = 0;
    for (const auto& [family, places] : places_by(results.error, [](const ErrorRow& r) { return r.family; })) {
        std::set<std::uint64_t> sizes;
        for (const std::size_t i : places)
            sizes.insert(results.error[i].n);
        if (sizes.size() > most) most = sizes.size(), best = family;
    }
    return best;
}

LineChart error_chart(const Results& results, const std::vector<ErrorRow>& rows, const std::string& type,
                      const std::string& family) {
    LineChart c;
    c.id = "error-" + slug(type);
    c.title = fmt::format("Relative error of a sum of {} ({} data)", type, family);
    c.x_label = "number of elements n";
    c.y_label = "|result - exact| / |exact|";
    c.y_floor = floor_of(type);
    std::vector<Series> bounds, expected;
    for (const ErrorRow& r : drawn_of(results, rows)) {
        if (r.family != family) continue;
        const std::string label = method_label(r.subject, results);
        auto at = std::find_if(c.series.begin(), c.series.end(), [&](const Series& s) { return s.label == label; });
        if (at == c.series.end()) {
            if (c.series.size() == most_series) continue;
            c.series.push_back({label, r.subject.method, 0, false, {}});
            bounds.push_back({"bound: " + label, r.subject.method, 0, true, {}});
            expected.push_back({"expected: " + label, r.subject.method, 1, true, {}});
            at = c.series.end() - 1;
        }
        const auto x = static_cast<double>(r.n);
        if (r.relative_error) at->points.emplace_back(x, *r.relative_error);
        const auto i = static_cast<std::size_t>(at - c.series.begin());
        if (r.bound && *r.bound > 0) bounds[i].points.emplace_back(x, *r.bound);
        if (const Metric y = expected_error(r)) expected[i].points.emplace_back(x, *y);
    }
    add_shared(c, std::move(bounds), "bound: ");
    add_shared(c, std::move(expected), "expected: ");
    return c;
}

LineChart condition_chart(const Results& results, const std::vector<ErrorRow>& rows, const std::string& type) {
    LineChart c;
    c.id = "condition-" + slug(type);
    c.title = fmt::format("Relative error of ill-conditioned sums of {}", type);
    c.x_label = "condition number";
    c.y_label = "|result - exact| / |exact|";
    c.y_floor = floor_of(type);
    c.y_ceiling = 1; // as many digits wrong as there are
    c.x_decimal = true;
    for (const ErrorRow& r : drawn_of(results, rows)) {
        if (r.family != condition_sweep || !r.condition || !r.relative_error) continue;
        const std::string label = method_label(r.subject, results);
        auto at = std::find_if(c.series.begin(), c.series.end(), [&](const Series& s) { return s.label == label; });
        if (at == c.series.end()) {
            if (c.series.size() == most_series) continue;
            at = c.series.insert(at, {label, r.subject.method, 0, false, {}});
        }
        at->points.emplace_back(*r.condition, std::max(*r.relative_error, roundoff_of(type)));
    }
    return c;
}

} // namespace detreduce::report
