// Section 3: how reproducible.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

std::string row_label(const DeterminismRow& r, const Results& results) {
    return fmt::format("{} {}", r.subject.dtype, method_label(r.subject, results));
}

bool measured(const DeterminismRow& r) {
    return r.runs && r.distinct && *r.runs > 0;
}

std::string axis_of(const DeterminismRow& r) {
    return r.axis;
}

// Each axis, those that someone measured first, and the first row that did, or null.
using Axes = std::vector<std::pair<std::string, const DeterminismRow*>>;
Axes axes_of(const std::vector<DeterminismRow>& rows) {
    Axes axes;
    for (const auto& [axis, places] : places_by(rows, axis_of)) {
        const auto at =
            std::find_if(places.begin(), places.end(), [&](const std::size_t i) { return measured(rows[i]); });
        axes.emplace_back(axis, at == places.end() ? nullptr : &rows[*at]);
    }
    std::stable_partition(axes.begin(), axes.end(), [](const auto& axis) { return axis.second != nullptr; });
    return axes;
}

Cell cell_of(const DeterminismRow& r) {
    if (!measured(r)) return {dash, "", Mood::absent};
    Cell cell{fmt::format("{} in {}", integer(*r.distinct), integer(*r.runs))};
    if (*r.distinct > 1) cell.detail = fmt::format("≤ {} ulp apart", ulps(r.spread_ulp));
    cell.mood = mood_of(r.promised, *r.distinct == 1);
    return cell;
}

// "0x3f800000" when it was the only one; else each with its count, and how many more there were.
Cell patterns_of(const DeterminismRow& r) {
    if (*r.distinct == 1) return {r.patterns.front().bits};
    std::string text;
    for (const Pattern& p : r.patterns)
        text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", p.bits, integer(p.count));
    const std::int64_t more = *r.distinct - static_cast<std::int64_t>(r.patterns.size());
    return {text, more > 0 ? fmt::format("and {} more", integer(more)) : ""};
}

Table table_of(const Results& results) {
    Table table{"determinism", "Distinct bit patterns in the number of runs made", {{"method", false}}, {}};
    const auto label = [&](const DeterminismRow& r) { return row_label(r, results); };
    std::vector<std::string> axes;
    for (const auto& [axis, first] : axes_of(results.determinism)) // those that nobody measured: see axes_table()
        if (first != nullptr) axes.push_back(axis);
    const Crossing crossing(results.determinism, label, axis_of, std::move(axes));
    for (const std::string& axis : crossing.columns())
        table.columns.push_back({axis});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& cell : line.cells)
            cells.push_back(cell.empty() ? Cell{dash, "", Mood::absent} : cell_of(*cell.front()));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// What was varied, axis by axis; an axis that nobody measured is listed with a dash.
Table axes_table(const Results& results) {
    Table table{"axes", "What each axis varies", {{"axis", false}, {"varied", false}, {"n"}, {"data", false}}, {}};
    for (const auto& [axis, first] : axes_of(results.determinism)) {
        if (first == nullptr) {
            table.rows.push_back(
                {{axis}, {dash, "", Mood::absent}, {dash, "", Mood::absent}, {dash, "", Mood::absent}});
        } else {
            table.rows.push_back({{axis}, {first->varied}, {count_of(first->n)}, {first->family}});
        }
    }
    return table;
}

// One line for all axes on which a method gave one and the same pattern, one for each of the
// others.
Table patterns_table(const Results& results) {
    Table table{"patterns",
                "Which bits: each pattern, and in how many runs it came out",
                {{"method", false}, {"n"}, {"along", false}, {"bit patterns", false}},
                {}};
    table.folded = true;
    const auto label = [&](const DeterminismRow& r) { return row_label(r, results); };
    for (const auto& [method, places] : places_by(results.determinism, label)) {
        std::map<std::string, std::size_t> lines; // of this method
        for (const std::size_t i : places) {
            const DeterminismRow& r = results.determinism[i];
            if (!measured(r) || r.patterns.empty()) continue;
            const std::string key = *r.distinct == 1 ? r.patterns.front().bits + count_of(r.n) : r.axis;
            const auto [at, is_new] = lines.try_emplace(key, table.rows.size());
            const std::string runs = fmt::format("{} ({})", r.axis, integer(*r.runs));
            if (is_new)
                table.rows.push_back({{method}, {count_of(r.n)}, {runs}, patterns_of(r)});
            else
                table.rows[at->second][2].text += ", " + runs;
        }
    }
    return table;
}

// Of the rows of one dtype.
DotChart chart(const Results& results, const std::string& dtype, const std::vector<DeterminismRow>& rows) {
    DotChart c{"determinism-" + slug(dtype),
               fmt::format("Distinct results of one sum of {}", dtype),
               "bit patterns seen (1: always the same)",
               {},
               {}};
    for (const auto& [axis, first] : axes_of(rows))
        if (first != nullptr && c.categories.size() < most_series) c.categories.push_back(axis);
    for (const DeterminismRow& r : rows) {
        const auto category = std::find(c.categories.begin(), c.categories.end(), r.axis);
        if (!measured(r) || category == c.categories.end()) continue;
        const std::string label = method_label(r.subject, results);
        auto series = std::find_if(c.series.begin(), c.series.end(), [&](const Series& s) { return s.label == label; });
        if (series == c.series.end()) {
            if (c.series.size() == most_series) continue;
            series = c.series.insert(series, {label, r.subject.method, static_cast<int>(c.series.size()), false, {}});
        }
        series->points.emplace_back(static_cast<double>(*r.distinct),
                                    static_cast<double>(category - c.categories.begin()));
    }
    return c;
}

// Of each reduction of somebody's own: did it keep what it claims?
void add_own(Section& section, const Results& results) {
    for (const OwnRow& own : results.own) {
        std::int64_t kept = 0, broken = 0, most = 0;
        for (const DeterminismRow& r : results.determinism) {
            const bool is_own = r.subject.method == own.name && r.subject.dtype == own.dtype &&
                                r.subject.device == own.device && measured(r);
            if (!is_own) continue;
            if (r.promised) (*r.distinct == 1 ? kept : broken) += 1;
            most = std::max(most, *r.distinct);
        }
        if (most == 0) continue;
        const std::string kept_or_not =
            broken > 0 ? fmt::format("BROKEN along {} of {} axes that it covers", broken, kept + broken)
            : kept > 0 ? fmt::format("kept along all {} axes that it covers", kept)
                       : std::string("it covers no axis");
        section.findings.push_back(fmt::format("{} of {} claims {}: {}; at most {} bit pattern{} along any axis.",
                                               own.name, own.dtype, own.guarantee, kept_or_not, integer(most),
                                               most == 1 ? "" : "s"));
    }
}

void add_findings(Section& section, const Results& results) {
    std::int64_t kept = 0, broken = 0, runs = 0;
    for (const DeterminismRow& r : results.determinism) {
        if (!measured(r)) continue;
        runs += *r.runs;
        if (r.promised) (*r.distinct == 1 ? kept : broken) += 1;
    }
    section.findings.push_back(
        broken ? fmt::format("{} promised cells were BROKEN: a defect.", broken)
               : fmt::format("All {} cells in which a method promises one bit pattern showed one ({} runs in all).",
                             kept, integer(runs)));
}

} // namespace

Section determinism_section(const Results& results) {
    Section section{"determinism", "Determinism", {}, {}, {}, {}, {}};
    if (results.determinism.empty()) return section;
    section.text = {
        "Each cell says how many different results (compared bit by bit) came out in how many runs of the same sum "
        "while one thing was varied. Colours say whether the method promises one, and whether there was one. A dash: "
        "not measured, or it does not apply."};
    for (const auto& [dtype, rows] :
         rows_by(results.determinism, [](const DeterminismRow& r) { return r.subject.dtype; }))
        if (section.dot_charts.size() < most_plots) section.dot_charts.push_back(chart(results, dtype, rows));
    section.tables = {table_of(results), axes_table(results)};
    if (Table patterns = patterns_table(results); !patterns.rows.empty()) {
        section.text.push_back(
            "Which bits came out, and how often each, is in the last table. Axes of another n are of other data, so "
            "their bits are others.");
        section.tables.push_back(std::move(patterns));
    }
    add_findings(section, results);
    add_own(section, results);
    return section;
}

} // namespace detreduce::report
