// Section 3: how reproducible.
#include <algorithm>

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

// Axes that someone measured come first.
std::vector<std::string> axes_of(const Results& results) {
    std::vector<std::string> axes = distinct_of(results.determinism, [](const DeterminismRow& r) { return r.axis; });
    std::stable_partition(axes.begin(), axes.end(), [&](const std::string& axis) {
        return std::any_of(results.determinism.begin(), results.determinism.end(),
                           [&](const DeterminismRow& r) { return r.axis == axis && measured(r); });
    });
    return axes;
}

Cell cell_of(const DeterminismRow& r) {
    if (!measured(r)) return {dash, "", Mood::absent};
    Cell cell{fmt::format("{} in {}", integer(*r.distinct), integer(*r.runs))};
    if (*r.distinct > 1) cell.detail = fmt::format("≤ {} ulp apart", ulps(r.spread_ulp));
    const bool same = *r.distinct == 1;
    cell.mood = same && r.promised ? Mood::good : same ? Mood::plain : r.promised ? Mood::bad : Mood::notable;
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
    const std::vector<std::string> axes = axes_of(results);
    for (const std::string& axis : axes)
        table.columns.push_back({axis});
    for (const std::string& row : distinct_of(results.determinism, label)) {
        std::vector<Cell> cells{{row}};
        for (const std::string& axis : axes) {
            const auto at = std::find_if(results.determinism.begin(), results.determinism.end(),
                                         [&](const DeterminismRow& r) { return r.axis == axis && label(r) == row; });
            cells.push_back(at == results.determinism.end() ? Cell{dash, "", Mood::absent} : cell_of(*at));
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// What was varied, axis by axis; an axis that nobody measured is listed with a dash.
Table axes_table(const Results& results) {
    Table table{"axes", "What each axis varies", {{"axis", false}, {"varied", false}, {"n"}, {"data", false}}, {}};
    for (const std::string& axis : axes_of(results)) {
        const auto at = std::find_if(results.determinism.begin(), results.determinism.end(),
                                     [&](const DeterminismRow& r) { return r.axis == axis && measured(r); });
        if (at == results.determinism.end()) {
            table.rows.push_back(
                {{axis}, {dash, "", Mood::absent}, {dash, "", Mood::absent}, {dash, "", Mood::absent}});
        } else {
            table.rows.push_back({{axis}, {at->varied}, {count_of(at->n)}, {at->family}});
        }
    }
    return table;
}

// One line for all axes on which a method gave one and the same pattern, one for each of the others.
Table patterns_table(const Results& results) {
    Table table{"patterns",
                "Which bits: each pattern, and in how many runs it came out",
                {{"method", false}, {"n"}, {"along", false}, {"bit patterns", false}},
                {}};
    table.folded = true;
    const auto label = [&](const DeterminismRow& r) { return row_label(r, results); };
    for (const std::string& method : distinct_of(results.determinism, label)) {
        std::vector<std::string> keys; // of this method's lines
        const std::size_t first = table.rows.size();
        for (const DeterminismRow& r : results.determinism) {
            if (label(r) != method || !measured(r) || r.patterns.empty()) continue;
            const std::string key = *r.distinct == 1 ? r.patterns.front().bits + count_of(r.n) : r.axis;
            const auto at = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
            if (at < keys.size()) {
                table.rows[first + at][2].text += ", " + r.axis + fmt::format(" ({})", integer(*r.runs));
                continue;
            }
            keys.push_back(key);
            table.rows.push_back(
                {{method}, {count_of(r.n)}, {r.axis + fmt::format(" ({})", integer(*r.runs))}, patterns_of(r)});
        }
    }
    return table;
}

DotChart chart(const Results& results, const std::string& dtype) {
    DotChart c{"determinism-" + slug(dtype),
               fmt::format("Distinct results of one sum of {}", dtype),
               "bit patterns seen (1: always the same)",
               {},
               {}};
    const auto shown = [&](const DeterminismRow& r) { return r.subject.dtype == dtype && measured(r); };
    for (const std::string& axis : axes_of(results))
        if (std::any_of(results.determinism.begin(), results.determinism.end(),
                        [&](const DeterminismRow& r) { return r.axis == axis && shown(r); }))
            c.categories.push_back(axis);
    for (const DeterminismRow& r : results.determinism) {
        if (!shown(r)) continue;
        const auto category = std::find(c.categories.begin(), c.categories.end(), r.axis);
        const std::string label = method_label(r.subject, results);
        auto series = std::find_if(c.series.begin(), c.series.end(), [&](const Series& s) { return s.label == label; });
        if (series == c.series.end())
            series = c.series.insert(series, {label, r.subject.method, static_cast<int>(c.series.size()), false, {}});
        series->points.emplace_back(static_cast<double>(*r.distinct),
                                    static_cast<double>(category - c.categories.begin()));
    }
    return c;
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
        "while one thing was "
        "varied. Green: one result, as the method promises. Amber: several, and the method promises nothing here. Red: "
        "a broken promise. "
        "Uncoloured: one result, but by luck, since nothing is promised. A dash: not measured, or it does not apply."};
    for (const std::string& dtype :
         distinct_of(results.determinism, [](const DeterminismRow& r) { return r.subject.dtype; }))
        section.dot_charts.push_back(chart(results, dtype));
    section.tables = {table_of(results), axes_table(results)};
    if (Table patterns = patterns_table(results); !patterns.rows.empty()) {
        section.text.push_back(
            "Which bits came out, and how often each, is in the last table. Axes of another n are of other data, so "
            "their bits are others.");
        section.tables.push_back(std::move(patterns));
    }
    add_findings(section, results);
    return section;
}

} // namespace detreduce::report
