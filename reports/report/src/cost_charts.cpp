#include "cost_charts.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "peers.hpp"
#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

// Without "8 threads", of which the titles say enough: legends have no room for it.
std::string legend_of(CostRow r) {
    const std::size_t end = r.variant.find(" thread");
    if (end == std::string::npos || r.variant.find_first_not_of("0123456789") != end) return cost_label(r);
    const std::size_t comma = r.variant.find(", ", end);
    r.variant = comma == std::string::npos ? "" : r.variant.substr(comma + 2);
    return cost_label(r);
}

// Adds the point of `r` to its line, which is made when it is the first.
void add_point(LineChart& chart, const CostRow& r, const Metric& y) {
    const std::string name = legend_of(r);
    auto at = std::find_if(chart.series.begin(), chart.series.end(), [&](const Series& s) { return s.label == name; });
    if (at == chart.series.end()) {
        if (chart.series.size() == most_series) return;
        const auto style = static_cast<int>(std::count_if(chart.series.begin(), chart.series.end(),
                                                          [&](const Series& s) { return s.name == r.candidate; }));
        at = chart.series.insert(at, {name, r.candidate, style, false, {}});
    }
    if (y) at->points.emplace_back(static_cast<double>(r.n), *y);
}

// On the CPU, 1 thread and several are two worlds; a chart shows one of them.
struct View {
    std::string id, words;
    std::function<bool(const CostRow&)> shows;
};
std::vector<View> views_of(const Results& results, const std::vector<CostRow>& rows) {
    std::vector<View> views;
    for (const std::string& device : distinct_of(rows, [](const CostRow& r) { return r.device; })) {
        const bool main = device == results.provenance.device;
        const auto here = [device](const CostRow& r) { return r.device == device; };
        const std::string id = main ? "" : "-" + slug(device);
        if (device == "cpu") {
            views.push_back(
                {id + "-1-thread", "the CPU, 1 thread", [=](const CostRow& r) { return here(r) && one_thread(r); }});
            views.push_back(
                {id + "-threads", "the CPU, all threads", [=](const CostRow& r) { return here(r) && !one_thread(r); }});
        } else {
            views.push_back({id, main ? "the GPU" : device, here});
        }
    }
    return views;
}

LineChart ratio_chart(const std::vector<CostRow>& rows, const std::string& dtype, const View& view) {
    LineChart c;
    c.id = "cost-ratio-" + slug(dtype) + view.id;
    c.title = fmt::format("Speed relative to reading, {} on {}", dtype, view.words);
    c.x_label = "number of elements n";
    c.y_label = "time to read / time";
    c.y_linear = true;
    for (const CostRow& r : rows)
        if (r.candidate != read_name && view.shows(r)) add_point(c, r, r.ratio_to_read);
    return c;
}

LineChart bandwidth_chart(const std::vector<CostRow>& rows, const std::string& dtype, const View& view) {
    LineChart c;
    c.id = "cost-" + slug(dtype) + view.id;
    c.title = fmt::format("Bandwidth of a sum of {} on {}", dtype, view.words);
    c.x_label = "number of elements n";
    c.y_label = "GB/s";
    for (const CostRow& r : rows)
        if (view.shows(r)) add_point(c, r, r.gb_per_s);
    return c;
}

} // namespace

std::string cost_label(const CostRow& r) {
    return r.variant.empty() ? r.candidate : r.candidate + ", " + r.variant;
}

bool one_thread(const CostRow& r) {
    return r.variant.starts_with("1 thread");
}

std::vector<CostRow> plain_rows_of(const std::vector<CostRow>& all) {
    std::vector<CostRow> rows;
    for (const CostRow& r : all)
        if (r.data == plain_data) rows.push_back(r);
    return rows;
}

std::vector<LineChart> cost_charts(const Results& results) {
    std::vector<LineChart> charts;
    for (const auto& [dtype, all] : rows_by(results.cost, [](const CostRow& r) { return r.dtype; })) {
        const std::vector<CostRow> rows = plain_rows_of(all);
        for (const View& view : views_of(results, rows)) {
            if (charts.size() >= most_plots) return charts;
            charts.push_back(bandwidth_chart(rows, dtype, view));
            charts.push_back(ratio_chart(rows, dtype, view));
        }
    }
    return charts;
}

} // namespace detreduce::report
