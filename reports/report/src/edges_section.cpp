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
    const auto label_of = [&](const EdgeRow& r) { return label(r, results); };
    const auto sum_of = [](const EdgeRow& r) { return fmt::format("{}, {}", r.data, r.dtype); };
    const std::vector<std::string> labels = distinct_of(results.edges, label_of);
    for (const std::string& l : labels)
        table.columns.push_back({l});
    const auto find = [&](const auto& wanted) {
        return std::find_if(results.edges.begin(), results.edges.end(), wanted);
    };
    for (const std::string& sum : distinct_of(results.edges, sum_of)) {
        const auto first = find([&](const EdgeRow& r) { return sum_of(r) == sum; });
        std::vector<Cell> cells{{sum}, {first->exact}};
        for (const std::string& l : labels) {
            const auto at = find([&](const EdgeRow& r) { return sum_of(r) == sum && label_of(r) == l; });
            cells.push_back(at == results.edges.end() ? Cell{dash, "", Mood::absent}
                                                      : Cell{at->result, "", at->right ? Mood::good : Mood::notable});
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

void add_findings(Section& section, const Results& results) {
    std::string text;
    for (const std::string& l : distinct_of(results.edges, [&](const EdgeRow& r) { return label(r, results); })) {
        const auto from = [&](const EdgeRow& r) { return label(r, results) == l && !r.device.empty(); };
        const auto all = std::count_if(results.edges.begin(), results.edges.end(), from);
        const auto right = std::count_if(results.edges.begin(), results.edges.end(),
                                         [&](const EdgeRow& r) { return from(r) && r.right; });
        if (all > 0) text += fmt::format("{}{} {} of {}", text.empty() ? "" : "; ", l, right, all);
    }
    section.findings.push_back(fmt::format("Right answers: {}.", text));
}

} // namespace

Section edges_section(const Results& results) {
    Section section{"edges", "Sums that are easy to get wrong", {}, {}, {}, {}, {}};
    if (results.edges.empty()) return section;
    section.text = {
        "Green: the true sum, rounded once, to the last bit. Amber: anything else. Methods that round on the way "
        "cannot be "
        "right where a partial sum overflows or is rounded away, and do not promise to be.",
        "The figures marked “published” are not of this run: CUB’s reproducible mode (gpu_to_gpu, CCCL 3.6) gave them "
        "on an "
        "H200 on which these sums were tried before. They are here because that mode is what one would compare with; a "
        "dash: not tried."};
    section.tables = {table_of(results)};
    add_findings(section, results);
    return section;
}

} // namespace detreduce::report
