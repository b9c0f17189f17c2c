// Section 3: how fast.
#include <algorithm>

#include <fmt/format.h>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

std::string label(const CostRow& r) {
    return r.variant.empty() ? r.candidate : r.candidate + ", " + r.variant;
}

std::vector<CostRow> of_dtype(const Results& results, const std::string& dtype) {
    std::vector<CostRow> rows;
    for (const CostRow& r : results.cost)
        if (r.dtype == dtype) rows.push_back(r);
    return rows;
}

Cell cell_of(const CostRow& r) {
    if (!r.median_s) return {dash, "", Mood::absent};
    std::string detail = fmt::format("{} µs ± {}", microseconds(r.median_s), percent(r.deviation));
    if (r.candidate != "read") detail = fmt::format("{} × read\n{}", fixed(r.ratio_to_read, 3), detail);
    return {gigabytes_per_second(r.gb_per_s), detail};
}

Table table_of(const Results& results, const std::string& dtype) {
    const std::vector<CostRow> rows = of_dtype(results, dtype);
    Table table{"cost-" + slug(dtype),
                fmt::format("{}: GB/s, speed relative to reading the same bytes, median time", dtype),
                {{"n", false}},
                {}};
    const std::vector<std::string> labels = distinct_of(rows, label);
    for (const std::string& l : labels)
        table.columns.push_back({l});
    for (const std::string& n : distinct_of(rows, [](const CostRow& r) { return count_of(r.n); })) {
        std::vector<Cell> cells{{n}};
        for (const std::string& l : labels) {
            const auto at = std::find_if(rows.begin(), rows.end(),
                                         [&](const CostRow& r) { return count_of(r.n) == n && label(r) == l; });
            cells.push_back(at == rows.end() ? Cell{dash, "", Mood::absent} : cell_of(*at));
            if (at != rows.end()) cells.front().detail = bytes_of(at->bytes);
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// Adds the point of `r` to its line, which is made when it is the first.
void add_point(LineChart& chart, const CostRow& r, const Metric& y) {
    auto at =
        std::find_if(chart.series.begin(), chart.series.end(), [&](const Series& s) { return s.label == label(r); });
    if (at == chart.series.end()) {
        const auto style = static_cast<int>(std::count_if(chart.series.begin(), chart.series.end(),
                                                          [&](const Series& s) { return s.name == r.candidate; }));
        at = chart.series.insert(at, {label(r), r.candidate, style, false, {}});
    }
    if (y) at->points.emplace_back(static_cast<double>(r.n), *y);
}

LineChart bandwidth_chart(const Results& results, const std::string& dtype, const char* where) {
    LineChart c;
    c.id = "cost-" + slug(dtype);
    c.title = fmt::format("Bandwidth of a sum of {} on {}", dtype, where);
    c.x_label = "number of elements n";
    c.y_label = "GB/s";
    for (const CostRow& r : of_dtype(results, dtype))
        add_point(c, r, r.gb_per_s);
    return c;
}

LineChart ratio_chart(const Results& results, const std::string& dtype, const char* where) {
    LineChart c;
    c.id = "cost-ratio-" + slug(dtype);
    c.title = fmt::format("Speed relative to reading, {} on {}", dtype, where);
    c.x_label = "number of elements n";
    c.y_label = "time to read / time";
    c.y_linear = true;
    for (const CostRow& r : of_dtype(results, dtype))
        if (r.candidate != "read") add_point(c, r, r.ratio_to_read);
    return c;
}

// The largest size, where the cost of starting anything no longer counts.
void add_findings(Section& section, const Results& results) {
    for (const std::string& dtype : distinct_of(results.cost, [](const CostRow& r) { return r.dtype; })) {
        const std::vector<CostRow> rows = of_dtype(results, dtype);
        const std::uint64_t n =
            std::max_element(rows.begin(), rows.end(), [](const CostRow& a, const CostRow& b) { return a.n < b.n; })->n;
        std::string parts;
        for (const CostRow& r : rows)
            if (r.n == n && r.candidate != "read" && r.ratio_to_read)
                parts += fmt::format("{}{} {}", parts.empty() ? "" : "; ", label(r), fixed(r.ratio_to_read, 3));
        if (!parts.empty())
            section.findings.push_back(
                fmt::format("{}, n = {}, speed relative to reading the same bytes: {}.", dtype, count_of(n), parts));
    }
}

} // namespace

Section cost_section(const Results& results) {
    Section section{"cost", "Cost", {}, {}, {}, {}, {}};
    if (results.cost.empty()) return section;
    const bool gpu = results.provenance.device != "cpu";
    section.text = {gpu ? "Times are taken on the GPU, between events around each call, with all calls queued "
                          "beforehand so that the host's launch "
                          "latency is not counted. Inputs rotate through memory of at least four times the L2 cache. "
                          "The candidates take turns."
                        : "Times are wall-clock times of one call; the candidates take turns. Small sizes are in "
                          "cache, as they are for a caller who "
                          "has just written the data; the largest comes from memory.",
                    "“read” loads the same bytes and folds them with integer XOR: as fast as any method could be. Each "
                    "figure is a median; ± is the "
                    "median absolute deviation. GB/s counts 10⁹ bytes."};
    const std::vector<std::string> dtypes = distinct_of(results.cost, [](const CostRow& r) { return r.dtype; });
    const char* where = gpu ? "the GPU" : "the CPU";
    for (const std::string& dtype : dtypes)
        section.line_charts.push_back(bandwidth_chart(results, dtype, where));
    for (const std::string& dtype : dtypes) {
        section.line_charts.push_back(ratio_chart(results, dtype, where));
        section.tables.push_back(table_of(results, dtype));
    }
    add_findings(section, results);
    return section;
}

} // namespace detreduce::report
