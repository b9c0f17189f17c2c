// Section 1: how wrong.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "error_cells.hpp"
#include "error_charts.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

Mood mood_of(const ErrorRow& r) {
    return broken(r) ? Mood::bad : r.error_over_bound ? Mood::plain : Mood::absent;
}

// Families × methods.
Table matrix(const Results& results, const std::string& type, const std::vector<ErrorRow>& rows) {
    Table table{
        "error-matrix-" + slug(type),
        fmt::format("{}: largest error by kind of data, in ulp of the result (share of the bound; how many results are "
                    "the correctly rounded one)",
                    type),
        {{"data", false}, {"condition", true}},
        {}};
    const Crossing crossing(
        rows, [](const ErrorRow& r) { return r.family; },
        [&](const ErrorRow& r) { return method_label(r.subject, results); });
    for (const std::string& method : crossing.columns())
        table.columns.push_back({method});
    for (const auto& line : crossing.lines()) {
        Metric condition;
        std::vector<Cell> cells;
        for (const auto& cell : line.cells) {
            Worst worst;
            for (const ErrorRow* r : cell) {
                worst.take(*r);
                if (r->condition && (!condition || *r->condition > *condition)) condition = r->condition;
            }
            cells.push_back(worst.cell());
        }
        cells.insert(cells.begin(),
                     {Cell{line.name}, Cell{condition && std::isfinite(*condition) ? "≤ " + condition_of(condition)
                                                                                   : condition_of(condition)}});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

Table details(const Results& results, const std::string& type, const std::vector<ErrorRow>& rows) {
    Table table{"error-" + slug(type),
                fmt::format("{}: every measured point (worst of the trials)", type),
                {{"data", false},
                 {"n"},
                 {"condition"},
                 {"method", false},
                 {"error, ulp"},
                 {"relative error"},
                 {"bound"},
                 {"error / bound"},
                 {"correctly rounded"},
                 {"trials"}},
                {}};
    table.folded = true;
    for (const ErrorRow& r : rows)
        table.rows.push_back({{r.family},
                              {count_of(r.n)},
                              {condition_of(r.condition)},
                              {method_label(r.subject, results)},
                              {ulps(r.error_ulp)},
                              {scientific(r.relative_error)},
                              {scientific(r.bound)},
                              {scientific(r.error_over_bound), "", mood_of(r)},
                              {integer(r.correctly_rounded)},
                              {integer(r.trials)}});
    return table;
}

// What the rest of this file is about: provenance, and rows of sums.
Results sums_of(const Results& all) {
    Results sums;
    sums.provenance = all.provenance;
    for (const ErrorRow& r : all.error)
        if (r.subject.op == "sum") sums.error.push_back(r);
    sums.own = all.own;
    return sums;
}

void add_exact(Section& section, const Results& results) {
    std::int64_t trials = 0, right = 0;
    for (const ErrorRow& r : results.error)
        if (r.subject.method == "exact") trials += r.trials, right += r.correctly_rounded;
    if (trials == 0) return;
    section.findings.push_back(
        right == trials
            ? fmt::format("exact: correctly rounded? Yes, in all {} sums; compared bit by bit with the oracle.",
                          integer(trials))
            : fmt::format("exact: NOT correctly rounded in {} of {} sums: a defect.", integer(trials - right),
                          integer(trials)));
}

// Of each reduction of somebody's own: the worst of all, and whether it is within the bound that it
// claims.
void add_own(Section& section, const Results& results) {
    for (const OwnRow& own : results.own) {
        Worst worst;
        Metric ordinary;
        for (const ErrorRow& r : results.error) {
            if (r.subject.method != own.name || r.subject.dtype != own.dtype || r.subject.device != own.device)
                continue;
            worst.take(r);
            if (r.condition && *r.condition <= ordinary_condition && r.error_ulp &&
                (!ordinary || *r.error_ulp > *ordinary))
                ordinary = r.error_ulp;
        }
        if (!worst.ulp) continue;
        std::string text = fmt::format("{} of {}: at most {} ulp off where the condition number is at most {:g}, {} at "
                                       "worst; {} of {} results are the nearest number",
                                       own.name, own.dtype, ulps(ordinary), ordinary_condition, ulps(worst.ulp),
                                       integer(worst.correctly_rounded), integer(worst.trials));
        text += !worst.share      ? "; it claims no bound."
                : worst.is_broken ? "; ABOVE the bound that it claims."
                                  : fmt::format("; at most {} of the bound that it claims.", percent(worst.share));
        section.findings.push_back(text);
    }
}

void add_findings(Section& section, const Results& results) {
    Metric closest;
    const ErrorRow* where = nullptr;
    std::size_t above = 0, bounded = 0;
    for (const ErrorRow& r : results.error) {
        if (!r.error_over_bound) continue;
        ++bounded;
        above += *r.error_over_bound > 1;
        if (r.subject.method == "exact") continue; // half an ulp is its bound, and some sums lie half-way
        if (!closest || *r.error_over_bound > *closest) closest = r.error_over_bound, where = &r;
    }
    if (above > 0)
        section.findings.push_back(
            fmt::format("{} of {} points lie ABOVE their bound: a defect.", above, results.error.size()));
    else if (where)
        section.findings.push_back(fmt::format("All {} points that have a bound lie within it; of the methods other "
                                               "than exact the closest reaches {} of it "
                                               "({}, {}, {}, n = {}).",
                                               bounded, percent(closest), type_of(where->subject),
                                               method_label(where->subject, results), where->family,
                                               count_of(where->n)));
    add_exact(section, results);
}

} // namespace

Section error_section(const Results& all) {
    Section section{"error", "Error against the exact result", {}, {}, {}, {}, {}};
    if (all.error.empty()) return section;
    const Results results = sums_of(all);
    const std::string family = plotted_family(results);
    section.text = {
        "The exact sum is computed in integers and rounded never; errors are measured against it. One ulp is the "
        "distance "
        "between neighbouring numbers of the result's type at the exact sum: a correctly rounded result is at most 0.5 "
        "ulp "
        "away.",
        "The condition number Σ|x| / |Σx| says how much the data itself magnifies rounding errors; the bound is what "
        "the order "
        "of additions guarantees for any data of that length and condition number. There is none where the result may "
        "overflow. Each figure is the worst of several data sets. 16-bit elements are added in f32 (exact: in "
        "integers), and "
        "rounded to their own type or given as f32.",
        "Dotted lines in the plots against n: what to expect when rounding errors are independent, with λ = 6 (Higham "
        "and Mary, SISC 41, 2019); "
        "it grows with √depth where the bound grows with the depth.",
        "Ill-conditioned sums: terms that cancel almost entirely. tree loses a digit for each power of ten; kahan and "
        "compensated carry their errors along and lose none until the condition number has used up twice the digits; "
        "exact "
        "loses none at all. Their plots draw what is less than half an ulp of 1, or more than 1, as that."};
    std::size_t drawn = 0;
    for (const auto& [type, rows] : rows_by(results.error, [](const ErrorRow& r) { return type_of(r.subject); })) {
        if (drawn++ < most_plots) {
            section.line_charts.push_back(error_chart(results, rows, type, family));
            section.line_charts.push_back(condition_chart(results, rows, type));
        }
        section.tables.push_back(matrix(results, type, rows));
        section.tables.push_back(details(results, type, rows));
    }
    std::stable_partition(section.tables.begin(), section.tables.end(), [](const Table& t) { return !t.folded; });
    add_findings(section, results);
    add_own(section, results);
    add_op_errors(section, all);
    return section;
}

} // namespace detreduce::report
