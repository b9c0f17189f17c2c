// Section 2: sums that are easy to get wrong.
#include <algorithm>

#include <fmt/format.h>

#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

// Who gave the result: a method on another device than the rest says so.
std::string label(const EdgeRow& r, const Results& results) {
    return r.device.empty() || r.device == results.provenance.device ? r.candidate
                                                                     : fmt::format("{} ({})", r.candidate, r.device);
}

Table table_of(const Results& results) {
    Table table{"edges", "Results of sums that are easy to get wrong", {{"sum", false}, {"true answer"}}, {}};
    const Crossing crossing(
        results.edges, [](const EdgeRow& r) { return fmt::format("{}, {}", r.data, r.dtype); },
        [&](const EdgeRow& r) { return label(r, results); });
    for (const std::string& l : crossing.columns())
        table.columns.push_back({l});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}, {line.first->exact}};
        for (const auto& cell : line.cells)
            cells.push_back(cell.empty() ? Cell{dash, "", Mood::absent}
                                         : Cell{cell.front()->result, "",
                                                mood_of(cell.front()->candidate == "exact", cell.front()->right)});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

void add_findings(Section& section, const Results& results) {
    std::string text;
    std::size_t named = 0;
    for (const auto& [l, places] : places_by(results.edges, [&](const EdgeRow& r) { return label(r, results); })) {
        std::size_t all = 0, right = 0;
        for (const std::size_t i : places) {
            const EdgeRow& r = results.edges[i];
            all += !r.device.empty();
            right += !r.device.empty() && r.right;
        }
        if (all > 0 && named++ < most_columns)
            text += fmt::format("{}{} {} of {}", text.empty() ? "" : "; ", l, right, all);
    }
    section.findings.push_back(fmt::format("Right answers: {}.", text));
}

} // namespace

Section edges_section(const Results& results) {
    Section section{"edges", "Sums that are easy to get wrong", {}, {}, {}, {}, {}};
    if (results.edges.empty()) return section;
    section.text = {
        "A result is right when it is the true sum, rounded once, to the last bit. exact promises that. Methods that "
        "round on the way cannot be right where a partial sum overflows or is rounded away, and do not promise to be: "
        "what is wrong there is amber."};
    if (std::any_of(results.edges.begin(), results.edges.end(), [](const EdgeRow& r) { return r.device.empty(); }))
        section.text.emplace_back("The figures marked “published” are not of this run; a dash: not tried.");
    section.tables = {table_of(results)};
    add_findings(section, results);
    return section;
}

} // namespace detreduce::report
