// First of all: three questions in plain sentences, then what each choice gives and costs, in one
// table and one plot a type.
#include <algorithm>

#include <fmt/format.h>

#include <detreduce/types.hpp>

#include "summary.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

// Of a reduction of somebody's own what it claims.
std::string guarantee_of(const std::string& method, const std::string& dtype, const Results& results) {
    for (const MethodInfo& m : methods())
        if (m.name == method) return std::string(name(m.guarantee));
    for (const OwnRow& own : results.own)
        if (own.name == method && own.dtype == dtype) return own.guarantee + " (claimed)";
    return dash;
}

Table with_guarantees(Table table, const std::vector<Choice>& list, const Results& results) {
    constexpr int place = 2; // behind method and type
    table.columns.insert(table.columns.begin() + place, Column{"guarantee", false});
    for (std::size_t i = 0; i < list.size(); ++i)
        table.rows[i].insert(table.rows[i].begin() + place, Cell{guarantee_of(list[i].method, list[i].dtype, results)});
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

std::string than(double ratio, const char* what) {
    if (ratio >= 1.995) return fmt::format("{:.1f} times the time of {}", ratio, what);
    if (ratio > 0.9995 && ratio < 1.0005) return fmt::format("the time of {}", what);
    return ratio > 1 ? fmt::format("{:.1f} % more time than {}", 100 * (ratio - 1), what)
                     : fmt::format("{:.1f} % less time than {}", 100 * (1 - ratio), what);
}

// Of one dtype: what order independence costs over a fixed order, where memory is what limits both,
// and where it is not.
struct Price {
    std::string dtype;
    std::uint64_t large = 0, small = 0; ///< elements; `small` is 0 where there is one size
    Metric to_tree = {}, to_read = {}, small_to_tree = {};
};

Price price_of(const Results& results, const std::vector<Choice>& list, const std::string& dtype) {
    Price p{dtype};
    const Choice *exact = find(list, dtype, "exact"), *tree = find(list, dtype, "tree");
    if (!exact || !tree || exact->cost->n != tree->cost->n) return p;
    p.large = exact->cost->n;
    p.to_tree = time_ratio(exact->cost, tree->cost);
    if (const Metric speed = exact->cost->ratio_to_read; speed && *speed > 0) p.to_read = 1 / *speed;
    std::uint64_t minimum = p.large;
    for (const CostRow& r : results.cost)
        if (r.dtype == dtype && r.candidate == "exact" && r.gb_per_s) minimum = std::min(minimum, r.n);
    if (minimum == p.large) return p;
    p.small = minimum;
    p.small_to_tree =
        time_ratio(fastest_of(results, dtype, minimum, "exact"), fastest_of(results, dtype, minimum, "tree"));
    return p;
}

Table price_table(const std::vector<Price>& prices) {
    Table table{"price",
                "What exact costs: its time as a multiple of that of tree, and of reading the same bytes",
                {{"elements", false}, {"large sum"}, {"of tree"}, {"of reading"}, {"small sum"}, {"of tree"}},
                {}};
    const Cell absent{dash, "", Mood::absent};
    const auto ratio = [&](const Metric& m) { return m ? Cell{fixed(m, 3)} : absent; };
    for (const Price& p : prices)
        table.rows.push_back({{p.dtype},
                              {count_of(p.large)},
                              ratio(p.to_tree),
                              ratio(p.to_read),
                              p.small > 0 ? Cell{count_of(p.small)} : absent,
                              ratio(p.small_to_tree)});
    return table;
}

// ---- three questions ----

Answer which_method(const Results& results) {
    std::string text;
    for (const OwnRow& own : results.own)
        text += fmt::format("{}{} of {} claims {}", text.empty() ? "Under test: " : "; ", own.name, own.dtype,
                            own.guarantee);
    if (!text.empty()) text += ". Beside them, of detreduce: exact and tree. ";
    return {"Which method here?",
            text + "Take exact: its result is the true sum, rounded once, and neither the order of the numbers nor "
                   "the number of machines changes a bit. Where the order is fixed and small sums must be fast, take "
                   "tree: the same bits on every machine, with errors that grow slowly. Where the order is fixed and "
                   "numbers cancel, take compensated."};
}

// Why the times are not those of the methods; empty: nothing speaks against them. No sum is faster
// than reading its numbers, but for noise.
std::string why_unknown(const Results& results, const std::vector<Choice>& list) {
    constexpr double most = 1.05;
    if (results.provenance.device == "cpu" && !busy_note_of(results.provenance).empty())
        return "other programs kept the machine busy";
    for (const Choice& c : list)
        if (c.cost && c.cost->ratio_to_read && *c.cost->ratio_to_read > most)
            return fmt::format("{} of {} took {}, which something must have slowed down", c.label, c.dtype,
                               than(1 / *c.cost->ratio_to_read, "reading the numbers"));
    return "";
}

Answer what_it_costs(const std::vector<Price>& prices, const std::string& unknown) {
    Answer answer{"What does it cost?", "Not measured."};
    if (prices.empty()) return answer;
    if (!unknown.empty()) {
        answer.text =
            fmt::format("Not known: {}. Measure again when the machine does nothing else. Errors and bits do not "
                        "depend on that.",
                        unknown);
        return answer;
    }
    const auto f32 = std::find_if(prices.begin(), prices.end(), [](const Price& p) { return p.dtype == "f32"; });
    const Price& p = f32 == prices.end() ? prices.front() : *f32;
    std::string text =
        fmt::format("Of {} numbers of {}, exact takes {}", count_of(p.large), p.dtype, than(*p.to_tree, "tree"));
    if (p.to_read) text += fmt::format(" and {}", than(*p.to_read, "reading the numbers"));
    if (p.small_to_tree)
        text += fmt::format("; of {} numbers it takes {}", count_of(p.small), than(*p.small_to_tree, "tree"));
    answer.text = text + ".";
    return answer;
}

Answer is_it_proven(const Results& results) {
    const Proof p = proof_of(results);
    Answer answer{"Is it proven on this machine?", "Not measured."};
    const std::string words = words_of(p);
    if (p.is_broken()) {
        answer.text = fmt::format("No: {}. What is red below is a defect.", words);
    } else if (!words.empty()) {
        answer.text =
            fmt::format("{}: {}. That is measured, for what was tried; “detreduce verify” compares this "
                        "machine's bits with those of the specification.",
                        results.provenance.incomplete.empty() ? "Yes" : "As far as it was measured, yes", words);
    }
    return answer;
}

} // namespace

Section summary_section(const Results& results) {
    Section section{"summary", "Summary", {}, {}, {}, {}, {}};
    const std::vector<Choice> list = choices_of(results);
    std::vector<Price> prices;
    for (const std::string& dtype : distinct_of(list, [](const Choice& c) { return c.dtype; })) {
        section.line_charts.push_back(chart(list, dtype));
        if (Price price = price_of(results, list, dtype); price.to_tree) prices.push_back(std::move(price));
    }
    const std::string unknown = why_unknown(results, list);
    section.answers = {which_method(results), what_it_costs(prices, unknown), is_it_proven(results)};
    if (list.empty()) return section;
    section.text = {
        fmt::format(
            "An ulp (unit in the last place) is the distance between neighbouring numbers of the result's format, at "
            "the true sum: the nearest number is at most 0.5 ulp away from it. The condition number Σ|x| / |Σx| says "
            "how much the numbers cancel: it is 1 where all have one sign, and where it is {0:g}, a sum that rounds on "
            "the way may lose two more decimal digits. “condition ≤ {0:g}” leaves out data that cancels more.",
            ordinary_condition),
        "Bit patterns: how many different results were seen along the axes that the method's guarantee covers (section "
        "“Determinism”), and in how many runs. In the plots further down is less wrong, further left is faster."};
    section.tables = {with_guarantees(summary_table(list, results.provenance.device != "cpu"), list, results)};
    if (!prices.empty() && unknown.empty()) section.tables.push_back(price_table(prices));
    return section;
}

} // namespace detreduce::report
