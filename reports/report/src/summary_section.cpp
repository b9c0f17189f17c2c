// First of all: what each choice gives and costs, in one table and one plot a type.
#include <algorithm>

#include <fmt/format.h>

#include <detreduce/types.hpp>

#include "summary.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

std::string guarantee_of(const std::string& method) {
    for (const MethodInfo& m : methods())
        if (m.name == method) return std::string(name(m.guarantee));
    return dash;
}

Table with_guarantees(Table table, const std::vector<Choice>& list) {
    constexpr int place = 2; // behind method and type
    table.columns.insert(table.columns.begin() + place, Column{"guarantee", false});
    for (std::size_t i = 0; i < list.size(); ++i)
        table.rows[i].insert(table.rows[i].begin() + place, Cell{guarantee_of(list[i].method)});
    return table;
}

// Up is wrong, right is slow.
LineChart chart(const std::vector<Choice>& list, const std::string& dtype) {
    LineChart c;
    c.id = "summary-" + slug(dtype);
    c.title = fmt::format("Error against cost, sums of {}", dtype);
    c.x_label = "time / time to read the same bytes";
    c.y_label = fmt::format("worst error, ulp (condition <= {:g})", ordinary_condition);
    c.x_linear = c.points_only = true;
    for (const Choice& choice : list)
        if (choice.dtype == dtype && choice.cost && choice.cost->ratio_to_read && *choice.cost->ratio_to_read > 0 &&
            choice.worst_ordinary)
            c.series.push_back(
                {choice.label, choice.method, 0, false, {{1 / *choice.cost->ratio_to_read, *choice.worst_ordinary}}});
    return c;
}

const Choice* find(const std::vector<Choice>& list, const std::string& dtype, const std::string& method) {
    const auto at = std::find_if(list.begin(), list.end(),
                                 [&](const Choice& c) { return c.dtype == dtype && c.method == method && c.cost; });
    return at == list.end() ? nullptr : &*at;
}

std::string per_cent_more(double ratio) {
    return ratio >= 1 ? fmt::format("{:.1f} % more time than", 100 * (ratio - 1))
                      : fmt::format("{:.1f} % less time than", 100 * (1 - ratio));
}

// What order independence costs over a fixed order, where memory is what limits both, and where it is not.
void add_price(Section& section, const Results& results, const std::vector<Choice>& list, const std::string& dtype) {
    const Choice *exact = find(list, dtype, "exact"), *tree = find(list, dtype, "tree");
    if (!exact || !tree || exact->cost->n != tree->cost->n) return;
    const Metric large = time_ratio(exact->cost, tree->cost);
    if (!large) return;
    std::string text =
        fmt::format("{}: of {} elements exact takes {} tree", dtype, count_of(exact->cost->n), per_cent_more(*large));
    std::uint64_t least = exact->cost->n;
    for (const CostRow& r : results.cost)
        if (r.dtype == dtype && r.candidate == "exact" && r.gb_per_s) least = std::min(least, r.n);
    const auto small = [&](const char* method) { return fastest_of(results, dtype, least, method); };
    if (const Metric ratio = time_ratio(small("exact"), small("tree")); ratio && least < exact->cost->n)
        text += fmt::format(", of {} elements {} tree", count_of(least), per_cent_more(*ratio));
    section.findings.push_back(text + ".");
}

} // namespace

Section summary_section(const Results& results) {
    Section section{"summary", "Summary", {}, {}, {}, {}, {}};
    const std::vector<Choice> list = choices_of(results);
    if (list.empty()) return section;
    section.text = {
        "Choose exact where the sum must not depend on how the data was ordered, split or spread over machines, or "
        "where it may "
        "cancel: its result is the number nearest to the true sum. Choose tree where the order is fixed and small sums "
        "must be fast: "
        "the same bits on every machine, errors that grow with log n. compensated and kahan, in a fixed order too, "
        "lose nothing visible "
        "until the condition number has used up twice the digits. atomic and serial are there to compare with.",
        "Bit patterns: how many different results were seen along the axes that the method's guarantee covers (section "
        "“Determinism”); green when it was one, and how many runs that was. In the plots further down is less wrong, "
        "further left is faster."};
    for (const std::string& dtype : distinct_of(list, [](const Choice& c) { return c.dtype; })) {
        section.line_charts.push_back(chart(list, dtype));
        add_price(section, results, list, dtype);
    }
    section.tables = {with_guarantees(summary_table(list, results.provenance.device != "cpu"), list)};
    return section;
}

} // namespace detreduce::report
