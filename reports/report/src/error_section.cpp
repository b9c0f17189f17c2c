// Section 1: how wrong.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

// The family whose error is drawn against n: a well-conditioned sum, where all that one sees is the method.
std::string plotted_family(const Results& results) {
    std::string best;
    std::size_t most = 0;
    for (const std::string& family : distinct_of(results.error, [](const ErrorRow& r) { return r.family; })) {
        const auto sizes = static_cast<std::size_t>(std::count_if(
            results.error.begin(), results.error.end(), [&](const ErrorRow& r) { return r.family == family; }));
        if (sizes > most) most = sizes, best = family;
    }
    return best;
}

std::vector<ErrorRow> of_dtype(const Results& results, const std::string& dtype) {
    std::vector<ErrorRow> rows;
    for (const ErrorRow& r : results.error)
        if (r.subject.dtype == dtype) rows.push_back(r);
    return rows;
}

LineChart chart(const Results& results, const std::string& dtype, const std::string& family) {
    LineChart c{"error-" + slug(dtype),
                fmt::format("Relative error of a sum of {} ({} data)", dtype, family),
                "number of elements n",
                "|result - exact| / |exact|",
                {},
                dtype == "f32"   ? 0x1p-27
                : dtype == "f64" ? 0x1p-56
                                 : 0};
    std::vector<Series> bounds;
    for (const ErrorRow& r : of_dtype(results, dtype)) {
        if (r.family != family) continue;
        const std::string label = method_label(r.subject, results);
        auto at = std::find_if(c.series.begin(), c.series.end(), [&](const Series& s) { return s.label == label; });
        if (at == c.series.end()) {
            c.series.push_back({label, r.subject.method, 0, false, {}});
            bounds.push_back({"bound: " + label, r.subject.method, 0, true, {}});
            at = c.series.end() - 1;
        }
        const auto x = static_cast<double>(r.n);
        if (r.relative_error) at->points.emplace_back(x, *r.relative_error);
        if (r.bound && *r.bound > 0)
            bounds[static_cast<std::size_t>(at - c.series.begin())].points.emplace_back(x, *r.bound);
    }
    for (Series& bound : bounds) { // methods with the same bound share one line
        const auto same = std::find_if(c.series.begin(), c.series.end(),
                                       [&](const Series& s) { return s.bound && s.points == bound.points; });
        if (same != c.series.end())
            same->label += ", " + bound.label.substr(std::string("bound: ").size());
        else if (!bound.points.empty())
            c.series.push_back(std::move(bound));
    }
    return c;
}

Mood mood_of(const ErrorRow& r) {
    if (!r.error_over_bound) return Mood::absent;
    return *r.error_over_bound > 1 ? Mood::bad : Mood::plain;
}

// Families × methods, each cell the worst over all n.
Table matrix(const Results& results, const std::string& dtype) {
    const std::vector<ErrorRow> rows = of_dtype(results, dtype);
    Table table{"error-matrix-" + slug(dtype),
                fmt::format("{}: largest error by kind of data, in ulp of the exact sum (share of the bound)", dtype),
                {{"data", false}, {"condition", true}},
                {}};
    const auto label = [&](const ErrorRow& r) { return method_label(r.subject, results); };
    const std::vector<std::string> methods = distinct_of(rows, label);
    for (const std::string& m : methods)
        table.columns.push_back({m});
    for (const std::string& family : distinct_of(rows, [](const ErrorRow& r) { return r.family; })) {
        Metric condition;
        std::vector<Cell> cells;
        for (const std::string& m : methods) {
            Metric worst, share;
            for (const ErrorRow& r : rows) {
                if (r.family != family || label(r) != m) continue;
                if (r.error_ulp && (!worst || *r.error_ulp > *worst)) worst = r.error_ulp;
                if (r.error_over_bound && (!share || *r.error_over_bound > *share)) share = r.error_over_bound;
                if (r.condition && (!condition || *r.condition > *condition)) condition = r.condition;
            }
            const Mood mood = !worst ? Mood::absent : share && *share > 1 ? Mood::bad : Mood::plain;
            cells.push_back({ulps(worst), share ? fmt::format("{} of bound", percent(share)) : "", mood});
        }
        cells.insert(cells.begin(),
                     {Cell{family}, Cell{condition && std::isfinite(*condition) ? "≤ " + condition_of(condition)
                                                                                : condition_of(condition)}});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

Table details(const Results& results, const std::string& dtype) {
    Table table{"error-" + slug(dtype),
                fmt::format("{}: every measured point (worst of the trials)", dtype),
                {{"data", false},
                 {"n"},
                 {"condition"},
                 {"method", false},
                 {"error, ulp"},
                 {"relative error"},
                 {"bound"},
                 {"error / bound"},
                 {"trials"}},
                {}};
    table.folded = true;
    for (const ErrorRow& r : of_dtype(results, dtype))
        table.rows.push_back({{r.family},
                              {count_of(r.n)},
                              {condition_of(r.condition)},
                              {method_label(r.subject, results)},
                              {ulps(r.error_ulp)},
                              {scientific(r.relative_error)},
                              {scientific(r.bound)},
                              {scientific(r.error_over_bound), "", mood_of(r)},
                              {integer(r.trials)}});
    return table;
}

void add_findings(Section& section, const Results& results) {
    Metric closest;
    const ErrorRow* where = nullptr;
    std::size_t above = 0;
    for (const ErrorRow& r : results.error) {
        if (!r.error_over_bound) continue;
        above += *r.error_over_bound > 1;
        if (!closest || *r.error_over_bound > *closest) closest = r.error_over_bound, where = &r;
    }
    if (!where) return;
    section.findings.push_back(
        above ? fmt::format("{} of {} points lie ABOVE their bound: a defect.", above, results.error.size())
              : fmt::format(
                    "All {} points lie within their a-priori bound; the closest reaches {} of it ({}, {}, {}, n = {}).",
                    results.error.size(), percent(closest), where->subject.dtype, method_label(where->subject, results),
                    where->family, count_of(where->n)));
}

} // namespace

Section error_section(const Results& results) {
    Section section{"error", "Error against the exact result", {}, {}, {}, {}, {}};
    if (results.error.empty()) return section;
    const std::string family = plotted_family(results);
    section.text = {
        "The exact sum is computed in integers and rounded never; errors are measured against it. One ulp is the "
        "distance between "
        "neighbouring numbers of the type at the exact sum: a correctly rounded result is at most 0.5 ulp away.",
        "The condition number Σ|x| / |Σx| says how much the data itself magnifies rounding errors; the bound is what "
        "the order of "
        "additions guarantees for any data of that length and condition number. Each figure is the worst of several "
        "data sets."};
    for (const std::string& dtype : distinct_of(results.error, [](const ErrorRow& r) { return r.subject.dtype; })) {
        section.line_charts.push_back(chart(results, dtype, family));
        section.tables.push_back(matrix(results, dtype));
        section.tables.push_back(details(results, dtype));
    }
    std::stable_partition(section.tables.begin(), section.tables.end(), [](const Table& t) { return !t.folded; });
    add_findings(section, results);
    return section;
}

} // namespace detreduce::report
