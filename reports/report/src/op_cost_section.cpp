// Section 4, continued: how fast ops other than the sum, and shapes, are.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "op_cost_views.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

using namespace op_cost;

std::string with_variant(const std::string& name, const OpCostRow& r) {
    return r.variant.empty() ? name : name + ", " + r.variant;
}
std::string column_of(const OpCostRow& r) {
    return with_variant(maker_of(r), r);
}

std::string words_of(const OpCostRow& r) {
    return r.shape == flat_shape ? r.op : r.op + ", " + r.shape;
}
/// With a mark where a copy is the yardstick.
std::string line_of(const OpCostRow& r) {
    return words_of(r) + (writes_rows(r.op) ? " (c)" : "");
}

/// Those of the largest size that any of them has.
Rows largest_of(const Rows& rows) {
    std::uint64_t n = 0;
    for (const OpCostRow& r : rows)
        n = std::max(n, r.n);
    return where(rows, [n](const OpCostRow& r) { return r.n == n; });
}

Table largest_table(const View& view, const std::string& id, const char* what, const Rows& group) {
    const Rows rows = largest_of(group);
    Table table{id, "", {{"op", false}}, {}};
    if (rows.empty()) return table;
    table.caption = fmt::format("{}, {}, n = {} ({}): speed relative to reading the same bytes, GB/s and noise", what,
                                view.words, count_of(rows.front().n), bytes_of(rows.front().bytes));
    if (std::any_of(rows.begin(), rows.end(), [](const OpCostRow& r) { return writes_rows(r.op); }))
        table.caption += "; (c): relative to copying them";
    const Crossing crossing(rows, line_of, column_of);
    for (const std::string& column : crossing.columns())
        table.columns.push_back({column});
    const Copies copies(view.rows);
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& cell : line.cells) {
            const OpCostRow* const r = fastest(cell);
            if (!r) {
                cells.push_back({dash, "", Mood::absent});
                continue;
            }
            cells.push_back({fixed(copies.share_of(*r), 3),
                             fmt::format("{} GB/s ± {}", gigabytes_per_second(r->gb_per_s), percent(r->deviation))});
            if (is_peer(r->candidate)) cells.back().detail += "\n" + r->candidate;
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

/// Everything: a line an op, shape and candidate, a column an n.
Table sizes_table(const View& view) {
    Table table{"op-cost-n-" + view.id,
                fmt::format("{}, by n: GB/s, speed relative to reading the same bytes, noise", view.words),
                {{"op", false}, {"by", false}},
                {}};
    const auto size_of = [](const OpCostRow& r) { return count_of(r.n); };
    const auto by = [](const OpCostRow& r) { return with_variant(r.candidate, r); };
    Rows sorted = view.rows;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.n < b.n; });
    std::vector<std::string> sizes = distinct_of(sorted, size_of);
    if (sizes.size() > most_columns) sizes.resize(most_columns);
    for (const auto& [op, lines] : rows_by(view.rows, words_of)) {
        const Crossing crossing(lines, by, size_of, sizes);
        if (table.columns.size() == 2)
            for (const std::string& size : crossing.columns())
                table.columns.push_back({"n = " + size});
        for (const auto& line : crossing.lines()) {
            std::vector<Cell> cells{{op}, {line.name}};
            for (const auto& cell : line.cells) {
                const OpCostRow* const r = fastest(cell);
                cells.push_back(
                    r ? Cell{gigabytes_per_second(r->gb_per_s),
                             fmt::format("{} × read ± {}", fixed(r->ratio_to_read, 3), percent(r->deviation))}
                      : Cell{dash, "", Mood::absent});
            }
            table.rows.push_back(std::move(cells));
        }
    }
    table.folded = true;
    return table;
}

/// How near to reading, and how often ahead of the others.
void add_finding(Section& section, const View& view, const Rows& ops, const std::string& method) {
    const OpCostRow *slowest = nullptr, *quickest = nullptr;
    int faster = 0, compared = 0;
    std::map<std::pair<std::string, std::string>, double> peers; // the fastest by op and variant
    for (const OpCostRow& r : ops) {
        if (!is_peer(r.candidate) || !r.median_s) continue;
        const auto [at, is_new] = peers.try_emplace({r.op, r.variant}, *r.median_s);
        if (!is_new) at->second = std::min(at->second, *r.median_s);
    }
    for (const OpCostRow& r : ops) {
        if (r.candidate != method || !r.ratio_to_read || !on_one_thread(r)) continue;
        if (!slowest || *r.ratio_to_read < *slowest->ratio_to_read) slowest = &r;
        if (!quickest || *r.ratio_to_read > *quickest->ratio_to_read) quickest = &r;
        const auto peer = peers.find({r.op, r.variant});
        if (peer != peers.end() && r.median_s) ++compared, faster += *r.median_s < peer->second;
    }
    if (!slowest) return;
    std::string text =
        fmt::format("{}, n = {}, {}: from {} ({}) to {} ({}) of the speed of reading", view.words, count_of(slowest->n),
                    with_variant(method, *slowest), fixed(slowest->ratio_to_read, 3), slowest->op,
                    fixed(quickest->ratio_to_read, 3), quickest->op);
    if (compared > 0) text += fmt::format("; faster than the fastest other library in {} of {} ops", faster, compared);
    section.findings.push_back(text + ".");
}

} // namespace

Section op_cost_section(const Results& results) {
    Section section{"op-cost", "Cost of ops and shapes", {}, {}, {}, {}, {}};
    section.text = {
        "Ops other than the sum, and groups of elements, timed as sums are above, on normal data. All ops are of the "
        "same "
        "bytes: those of two inputs read one half of them as x and the other as y. Those that compare or count are the "
        "same by every method, and stand under exact. Shapes divide the same elements into groups.",
        "Beside them is what other libraries have that comes nearest; what follows it in the op (a root, a division) "
        "is "
        "not in its time. Means and norms have the algorithm of the sum and of the sum of squares, variances that of "
        "merged counts, means and squared deviations (on the CPU two passes). Where one library has two algorithms the "
        "faster is shown. thrust::reduce returns its sum to the host, from where it is taken back to the device: both "
        "are in its time. "
        "What CUB calls for each element is compiled as these methods are, without contraction; that of variances "
        "divides once an element. "
        "count_unique sorts, and is timed for fewer elements than the others: its lines are in the tables by n.",
        "Plots are of f32, on a CPU by one thread; other libraries are dashed."};
    for (const View& view : views_of(results)) {
        const Rows measured = where(view.rows, [](const OpCostRow& r) { return !is_yardstick(r); });
        const Rows flat = where(measured, [](const OpCostRow&r) { return r.shape == flat_shape; }),
                   others = where(measured, [](const OpCostRow&r) { return r.shape != flat_shape; });
        const bool first = view.rows.front().dtype == "f32";
        if (first && section.line_charts.size() < most_plots) add_charts(section, view);
        for (Table table : {largest_table(view, "op-cost-" + view.id, "Ops", flat),
                            largest_table(view, "op-cost-shapes-" + view.id, "Shapes, row ops and losses", others)}) {
            table.folded = !first;
            if (!table.rows.empty()) section.tables.push_back(std::move(table));
        }
        section.tables.push_back(sizes_table(view));
        for (const char* method : {"exact", "tree"})
            add_finding(section, view, largest_of(flat), method);
    }
    return section;
}

} // namespace detreduce::report
