#include "ladder_charts.hpp"

#include <algorithm>

#include "crossing.hpp"
#include "ladder_tables.hpp"
#include "published.hpp"

namespace detreduce::report {
namespace {

// Adds the point (x, y) to the line of the rung of `r`, which is made when it is the first.
void add_point(LineChart& chart, const LadderRow& r, double x, const Metric& y) {
    auto at =
        std::find_if(chart.series.begin(), chart.series.end(), [&](const Series& s) { return s.label == r.rung; });
    if (at == chart.series.end()) {
        if (chart.series.size() == most_series) return;
        at = chart.series.insert(
            at, {r.rung, r.rung, static_cast<int>(chart.series.size()), r.family == yardstick_family, {}});
    }
    if (y) at->points.emplace_back(x, *y);
}

} // namespace

LadderRows ladder_rows_of(const Results& results, const char* table) {
    LadderRows rows;
    for (const LadderRow& r : results.ladder)
        if (r.table == table) rows.push_back(r);
    return rows;
}

bool is_ending(const LadderRow& r) {
    return r.family == three_level_family;
}
bool is_ours(const LadderRow& r) {
    return r.rung == "tree" || r.rung == "exact";
}

LineChart size_chart(const Results& results) {
    LineChart chart{"ladder-sizes", "Bandwidth against the size of the data", "number of elements n", "GB/s", {}};
    for (const LadderRow& r : ladder_rows_of(results, sizes_table))
        if (!is_ending(r)) add_point(chart, r, static_cast<double>(r.n), r.gb_per_s);
    return chart;
}

LineChart endings_chart(const Results& results) {
    LineChart chart{"ladder-endings", "How the grid ends", "number of elements n", "time to read / time", {}};
    chart.y_linear = true;
    for (const LadderRow& r : ladder_rows_of(results, sizes_table))
        if (is_ending(r) || is_ours(r)) add_point(chart, r, static_cast<double>(r.n), r.ratio_to_read);
    return chart;
}

LineChart per_thread_chart(const Results& results) {
    LineChart chart{"ladder-per-thread", "Bandwidth by elements per thread", "elements per thread", "GB/s", {}};
    Series other{"published", "published", 1, true, {}};
    for (const LadderRow& r : ladder_rows_of(results, per_thread_table)) {
        add_point(chart, r, static_cast<double>(r.per_thread), r.gb_per_s);
        const PublishedRow* const p = published_for(r);
        if (p != nullptr && p->gb_per_s) other.points.emplace_back(static_cast<double>(r.per_thread), *p->gb_per_s);
    }
    if (!other.points.empty()) chart.series.push_back(other);
    return chart;
}

} // namespace detreduce::report
