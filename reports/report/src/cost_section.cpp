// Section 4: how fast.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cost_charts.hpp"
#include "peers.hpp"
#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

Cell cell_of(const CostRow& r) {
    if (!r.median_s) return {dash, "", Mood::absent};
    std::string detail = fmt::format("{} µs ± {}", microseconds(r.median_s), percent(r.deviation));
    if (r.candidate != read_name) detail = fmt::format("{} × read\n{}", fixed(r.ratio_to_read, 3), detail);
    return {gigabytes_per_second(r.gb_per_s), detail};
}

// Of the plain rows of one dtype, as all that follow.
Table table_of(const std::vector<CostRow>& rows, const std::string& dtype) {
    Table table{"cost-" + slug(dtype),
                fmt::format("{}: GB/s, speed relative to reading the same bytes, median time", dtype),
                {{"n", false}},
                {}};
    const Crossing crossing(
        rows, [](const CostRow& r) { return count_of(r.n); }, cost_label);
    for (const std::string& l : crossing.columns())
        table.columns.push_back({l});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& cell : line.cells) {
            cells.push_back(cell.empty() ? Cell{dash, "", Mood::absent} : cell_of(*cell.front()));
            if (!cell.empty()) cells.front().detail = bytes_of(cell.front()->bytes);
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// Rows of other devices than that under test say in their variant where they ran.
Results with_devices_named(Results results) {
    for (CostRow& r : results.cost)
        if (r.device != results.provenance.device) r.variant += (r.variant.empty() ? "" : ", ") + r.device;
    return results;
}

// Who was timed on other data than the plain kind: dtype, size and candidate × kinds of data.
Table data_table(const Results& results) {
    const auto exact_subject = [](const CostRow& r) { return fmt::format("{}, {}, {}", r.dtype, r.n, cost_label(r)); };
    std::set<std::string> elsewhere;
    for (const CostRow& r : results.cost)
        if (r.data != plain_data) elsewhere.insert(exact_subject(r));
    std::vector<CostRow> rows;
    for (const CostRow& r : results.cost)
        if (r.candidate != read_name && elsewhere.contains(exact_subject(r))) rows.push_back(r);
    Table table{"cost-data", "Speed on other kinds of data, relative to reading the same bytes", {{"sum", false}}, {}};
    const Crossing crossing(
        rows, [](const CostRow& r) { return fmt::format("{}, n = {}, {}", r.dtype, count_of(r.n), cost_label(r)); },
        [](const CostRow& r) { return r.data; });
    for (const std::string& kind : crossing.columns())
        table.columns.push_back({kind});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& cell : line.cells)
            cells.push_back(cell.empty() || !cell.front()->median_s
                                ? Cell{dash, "", Mood::absent}
                                : Cell{fixed(cell.front()->ratio_to_read, 3),
                                       gigabytes_per_second(cell.front()->gb_per_s) + " GB/s"});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

const CostRow* find(const std::vector<CostRow>& rows, std::uint64_t n, const std::string& candidate,
                    const std::string& variant) {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const CostRow& r) {
        return r.n == n && r.candidate == candidate && r.variant == variant;
    });
    return at == rows.end() || !at->median_s ? nullptr : &*at;
}

// The largest size of each dtype, where the cost of starting anything no longer counts:
// who × dtype.
Table largest_table(const Results& results) {
    std::vector<CostRow> rows;
    for (const auto& [dtype, all] : rows_by(results.cost, [](const CostRow& r) { return r.dtype; })) {
        std::uint64_t n = 0;
        const std::vector<CostRow> plain = plain_rows_of(all);
        for (const CostRow& r : plain)
            n = std::max(n, r.n);
        for (const CostRow& r : plain)
            if (r.n == n && r.candidate != read_name && r.ratio_to_read) rows.push_back(r);
    }
    Table table{"cost-largest", "The largest size: speed relative to reading the same bytes", {{"sum by", false}}, {}};
    const Crossing crossing(rows, cost_label,
                            [](const CostRow& r) { return fmt::format("{}, n = {}", r.dtype, count_of(r.n)); });
    for (const std::string& dtype : crossing.columns())
        table.columns.push_back({dtype});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& cell : line.cells)
            cells.push_back(cell.empty() ? Cell{dash, "", Mood::absent} : Cell{fixed(cell.front()->ratio_to_read, 3)});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// In cache, where arithmetic is all that counts: exact against the loop that everybody writes.
void add_in_cache(Section& section, const std::vector<CostRow>& rows, const std::string& dtype) {
    if (rows.empty()) return;
    const std::uint64_t n = rows.front().n;
    const CostRow* loop = find(rows, n, accumulate_name, "1 thread");
    if (!loop) return;
    std::string parts;
    for (const CostRow& r : rows)
        if (r.n == n && r.candidate == "exact" && one_thread(r) && r.median_s)
            parts += fmt::format("{}{} with {}", parts.empty() ? "" : ", ", fixed(*r.median_s / *loop->median_s, 2),
                                 r.variant.substr(r.variant.rfind(' ') + 1));
    if (!parts.empty())
        section.findings.push_back(fmt::format("{}, in cache (n = {}), time of exact on 1 thread relative to "
                                               "std::accumulate: {}.",
                                               dtype, count_of(n), parts));
}

void add_text(Section& section, bool gpu) {
    section.text = {
        gpu ? "Times are taken on the GPU, between events around each call, with all calls queued beforehand so that "
              "the "
              "host's launch latency is not counted. Inputs rotate through memory of at least four times the L2 cache. "
              "The "
              "candidates take turns."
            : "Times are wall-clock times of one call; the candidates take turns. Small sizes are in cache, as they "
              "are for "
              "a caller who has just written the data; the largest comes from memory.",
        "“read” loads the same bytes and folds them with integer XOR: as fast as any method could be. Each figure is a "
        "median; ± is the median absolute deviation. GB/s counts 10⁹ bytes.",
        "Charts and the tables by size are of normal data (mean 0, variance 1). Only exact has work that depends on "
        "the data, "
        "so it is timed on other kinds too: half_zeros, every second element 0; lognormal, e to the power of 3 × "
        "normal; "
        "outlier, one element 2⁶⁴ below the largest number of the format among normal ones; wide, exponents spread "
        "evenly "
        "over 100 binades; worst, over the whole format; adversary, what a search for the slowest data of each dtype "
        "found on an NVIDIA "
        "H200."};
}

} // namespace

Section cost_section(const Results& measured) {
    Section section{"cost", "Cost", {}, {}, {}, {}, {}};
    if (measured.cost.empty()) return section;
    const Results results = with_devices_named(measured);
    add_text(section, results.provenance.device != "cpu");
    const auto elsewhere = [&](const CostRow& r) { return r.device == "cpu" && results.provenance.device != "cpu"; };
    if (std::any_of(results.cost.begin(), results.cost.end(), elsewhere))
        section.text.insert(section.text.begin() + 1, "Those on the CPU are wall-clock times of one call.");
    section.line_charts = cost_charts(results);
    if (std::any_of(results.cost.begin(), results.cost.end(),
                    [](const CostRow& r) { return r.candidate == numpy_name; }))
        section.text.insert(section.text.begin() + 1,
                            "numpy.sum is timed by a Python process of its own, in the same rounds, on as many "
                            "elements of the same distribution, without huge pages, which the others' data does not "
                            "ask for either.");
    if (const Table table = largest_table(results); !table.rows.empty()) section.tables.push_back(table);
    if (const Table table = data_table(results); !table.rows.empty()) section.tables.push_back(table);
    for (const auto& [dtype, all] : rows_by(results.cost, [](const CostRow& r) { return r.dtype; })) {
        const std::vector<CostRow> rows = plain_rows_of(all);
        section.tables.push_back(table_of(rows, dtype));
        section.tables.back().folded = true;
        add_in_cache(section, rows, dtype);
    }
    return section;
}

} // namespace detreduce::report
