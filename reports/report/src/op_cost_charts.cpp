// Plots of the cost of ops and shapes, and what these have in common with the tables.
#include <algorithm>

#include <fmt/format.h>

#include "op_cost_views.hpp"
#include "text.hpp"

namespace detreduce::report::op_cost {

std::string maker_of(const OpCostRow& r) {
    if (!is_peer(r.candidate)) return r.candidate;
    if (r.candidate.starts_with("cub::")) return "CUB";
    if (r.candidate.starts_with("thrust::")) return "Thrust";
    return r.candidate.starts_with("cublas") ? "cuBLAS" : "C++ library";
}

std::vector<View> views_of(const Results& results) {
    std::vector<View> views;
    const auto device_of = [](const OpCostRow& r) { return r.device; };
    const auto dtype_of = [](const OpCostRow& r) { return r.dtype; };
    const auto devices = rows_by(results.op_cost, device_of);
    std::map<std::string, std::size_t> order; // of dtypes, the same on all devices
    for (const std::string& dtype : distinct_of(results.op_cost, dtype_of))
        order.emplace(dtype, order.size());
    for (const auto& [device, here] : devices) {
        auto groups = rows_by(here, dtype_of);
        std::sort(groups.begin(), groups.end(),
                  [&](const auto& a, const auto& b) { return order[a.first] < order[b.first]; });
        for (auto& [dtype, rows] : groups)
            views.push_back({slug(dtype) + (device == devices.front().first ? "" : "-" + slug(device)),
                             devices.size() == 1 ? dtype : fmt::format("{} on {}", dtype, device), std::move(rows)});
    }
    return views;
}

Copies::Copies(const Rows& rows) {
    for (const OpCostRow& r : rows) {
        if (r.op != copy_name || !r.median_s) continue;
        const auto [at, is_new] = seconds_.try_emplace(r.n, *r.median_s);
        if (!is_new) at->second = std::min(at->second, *r.median_s);
    }
}

Metric Copies::share_of(const OpCostRow& r) const {
    if (!writes_rows(r.op)) return r.ratio_to_read;
    const auto copy = seconds_.find(r.n);
    return copy != seconds_.end() && r.median_s ? Metric(copy->second / *r.median_s) : Metric();
}

namespace {

struct Drawn {
    const char *op, *shape;
};
constexpr Drawn drawn[] = {{"dot", flat_shape},        {"nrm2", flat_shape},    {"argmax", flat_shape},
                           {"moments", flat_shape},    {"sum", "rows of 4096"}, {"sum", "segments of 1 to 4096"},
                           {"softmax", "rows of 4096"}};

/// What a legend has room for: "CUB ArgMax", "CUB segmented Sum".
std::string short_name(const std::string& candidate) {
    if (!candidate.starts_with("cub::")) return candidate;
    const bool segmented = candidate.find("Segmented") != std::string::npos;
    return (segmented ? "CUB segmented " : "CUB ") + candidate.substr(candidate.rfind(':') + 1);
}

bool is_shown(const OpCostRow& r, const Drawn& what, bool ratios) {
    if (!r.gb_per_s || !on_one_thread(r)) return false;
    if (is_yardstick(r)) return !ratios && (r.op == "read" || writes_rows(what.op));
    return r.op == what.op && r.shape == what.shape;
}

/// Peers are dashed.
LineChart chart_of(const View& view, const Drawn& what, bool ratios) {
    const Rows rows = where(view.rows, [&](const OpCostRow& r) { return is_shown(r, what, ratios); });
    const bool flat = what.shape == std::string(flat_shape);
    LineChart c;
    c.id = fmt::format("op-cost-{}{}-{}-{}", ratios ? "ratio-" : "", what.op, slug(what.shape), view.id);
    c.title = fmt::format("{}{}, {}", what.op, flat ? "" : std::string(" of ") + what.shape, view.words);
    c.x_label = "number of elements n";
    c.y_label = !ratios ? "GB/s" : fmt::format("time to {} / time", writes_rows(what.op) ? "copy" : "read");
    c.y_linear = ratios;
    const Copies copies(view.rows);
    for (const auto& [candidate, places] : places_by(rows, [](const OpCostRow& r) { return r.candidate; })) {
        if (c.series.size() == most_series) break;
        Series series{short_name(candidate), "", 0, false, {}};
        for (const std::size_t i : places) {
            const OpCostRow& r = rows[i];
            const Metric y = ratios ? copies.share_of(r) : r.gb_per_s;
            if (!y) continue;
            series.name = maker_of(r);
            series.style = is_peer(r.candidate) ? 1 : 0;
            series.points.emplace_back(static_cast<double>(r.n), *y);
        }
        c.series.push_back(std::move(series));
    }
    return c;
}

} // namespace

void add_charts(Section& section, const View& view) {
    for (const Drawn& what : drawn) {
        const Rows measured = where(view.rows, [&](const OpCostRow& r) { return is_shown(r, what, true); });
        if (distinct_of(measured, [](const OpCostRow& r) { return count_of(r.n); }).size() < 2) continue;
        for (const bool ratios : {false, true})
            section.line_charts.push_back(chart_of(view, what, ratios));
    }
}

} // namespace detreduce::report::op_cost
