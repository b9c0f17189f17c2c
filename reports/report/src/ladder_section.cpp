// The ladder: kernels of the literature beside libraries and ours, and what others published.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include <detreduce/types.hpp>

#include "ladder_charts.hpp"
#include "ladder_tables.hpp"
#include "published.hpp"
#include "table.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

const LadderRow* find(const LadderRows& rows, const std::string& rung) {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const LadderRow& r) { return r.rung == rung; });
    return at == rows.end() ? nullptr : &*at;
}

Metric quotient(const Metric& a, const Metric& b) {
    return a && b && *b > 0 ? Metric(*a / *b) : Metric();
}

Cell figure(const Metric& value, std::string (*text)(const Metric&)) {
    return value ? Cell{text(value)} : Cell{dash, "", Mood::absent};
}
Cell ratio(const Metric& value) {
    return value ? Cell{fixed(value, 3)} : Cell{dash, "", Mood::absent};
}
Cell whole(const std::optional<std::int64_t>& value) {
    return value ? Cell{integer(*value)} : Cell{dash, "", Mood::absent};
}
Cell parameter(std::int64_t value) {
    return value > 0 ? Cell{integer(value)} : Cell{dash, "", Mood::absent};
}

Cell speed(const LadderRow& r) {
    Cell cell = figure(r.gb_per_s, gigabytes_per_second);
    if (r.median_s) cell.detail = fmt::format("{} µs ± {}", microseconds(r.median_s), percent(r.deviation));
    return cell;
}

// GB/s, and what that is of the peak by the device's properties and of what the read-only kernel
// reached; then the same of what was published, if anything was.
using Cells = std::vector<Cell>;
void add_speeds(Cells& cells, const LadderRow& r, const Provenance& p) {
    const PublishedRow* const other = published_for(r);
    cells.push_back(speed(r));
    cells.push_back(figure(quotient(r.gb_per_s, p.gpu ? p.gpu->peak_gb_per_s : Metric()), percent));
    cells.push_back(ratio(r.ratio_to_read));
    cells.push_back(other ? Cell{fixed(other->gb_per_s, 2)} : Cell{dash, "", Mood::absent});
    cells.push_back(figure(other ? quotient(other->gb_per_s, other->peak_gb_per_s) : Metric(), percent));
}
void add_speed_columns(std::vector<Column>& columns) {
    for (const char* title : {"GB/s", "of peak", "of reading", "published, GB/s", "published, of peak"})
        columns.push_back({title});
}

Cell distinct_cell(const LadderRow& r) {
    if (!r.distinct || !r.runs) return {dash, "", Mood::absent};
    const bool promised = !r.guarantee.empty() && r.guarantee != name(Guarantee::none); // by all levels beside
    return {integer(*r.distinct), fmt::format("of {} runs", integer(*r.runs)), mood_of(promised, *r.distinct == 1)};
}

Cells rung_cells(const LadderRow& r, const Provenance& p) {
    Cells cells{{r.rung, r.family}, {r.title, r.note}};
    add_speeds(cells, r, p);
    cells.push_back(distinct_cell(r));
    cells.push_back(figure(r.error_ulp, ulps));
    cells.push_back(r.guarantee.empty() ? Cell{dash, "", Mood::absent} : Cell{r.guarantee});
    cells.push_back(whole(r.passes));
    cells.push_back(whole(r.launches));
    return cells;
}

Table rungs(const Results& results) {
    Table table{"ladder-rungs", "The ladder", {{"rung", false}, {"what changed", false}}, {}};
    add_speed_columns(table.columns);
    for (const char* title : {"bit patterns", "error, ulp", "guarantee", "passes", "launches"})
        table.columns.push_back({title});
    const LadderRows rows = ladder_rows_of(results, rungs_table);
    if (!rows.empty()) table.caption += fmt::format(": {} elements of f32", count_of(rows.front().n));
    for (const LadderRow& r : rows)
        table.rows.push_back(rung_cells(r, results.provenance));
    return table;
}

// Rungs by what the literature varies.
Table parameters(const Results& results, const char* name, const char* caption) {
    Table table{fmt::format("ladder-{}", slug(name)),
                caption,
                {{"rung", false}, {"threads"}, {"elements a thread"}, {"coalesced"}},
                {}};
    add_speed_columns(table.columns);
    for (const LadderRow& r : ladder_rows_of(results, name)) {
        Cells cells{{r.rung}, parameter(r.threads), parameter(r.per_thread), {r.coalesced ? "yes" : "no"}};
        add_speeds(cells, r, results.provenance);
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// One line an n, one column a rung: of all, or of those of one table that `wanted` names.
Table by_size(const LadderRows& rows, const char* id, const char* caption,
              const std::function<bool(const LadderRow&)>& wanted) {
    Table table{id, caption, {{"n", false}}, {}};
    LadderRows kept;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), wanted);
    const Crossing crossing(
        kept, [](const LadderRow& r) { return count_of(r.n); }, [](const LadderRow& r) { return r.rung; });
    for (const std::string& name : crossing.columns())
        table.columns.push_back({name});
    for (const auto& line : crossing.lines()) {
        Cells cells{{line.name}};
        for (const auto& cell : line.cells)
            if (cell.empty() || !cell.front()->median_s)
                cells.push_back({dash, "", Mood::absent});
            else
                cells.push_back(
                    {microseconds(cell.front()->median_s), gigabytes_per_second(cell.front()->gb_per_s) + " GB/s"});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

Table softmax(const Results& results) {
    Table table{"ladder-softmax",
                "Softmax: speed relative to copying the same bytes",
                {{"rung", false},
                 {"what changed", false},
                 {"row length"},
                 {"GB/s"},
                 {"of a copy"},
                 {"bit patterns"},
                 {"error, ulp"},
                 {"passes"},
                 {"launches"}},
                {}};
    for (const LadderRow& r : ladder_rows_of(results, softmax_table)) {
        Cells cells{{r.rung, r.family},
                    {r.title, r.note},
                    r.rows > 0 ? Cell{count_of(r.n / r.rows)} : Cell{dash},
                    speed(r),
                    ratio(r.ratio_to_read)};
        cells.insert(cells.end(), {distinct_cell(r), figure(r.error_ulp, ulps), whole(r.passes), whole(r.launches)});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

void add_finding(std::vector<std::string>& list, const LadderRow* a, const LadderRow* b, const char* words) {
    const Metric factor = a && b ? quotient(a->gb_per_s, b->gb_per_s) : Metric();
    if (factor) list.push_back(fmt::format(fmt::runtime(words), fixed(factor, 2), a->rung, b->rung));
}

const LadderRow* fastest(const LadderRows& rows) {
    const LadderRow* best = nullptr;
    for (const LadderRow& r : rows)
        if (r.family != library_family && r.family != yardstick_family && r.gb_per_s &&
            (best == nullptr || *r.gb_per_s > *best->gb_per_s))
            best = &r;
    return best;
}

std::vector<std::string> findings(const Results& results) {
    std::vector<std::string> list;
    const LadderRows rows = ladder_rows_of(results, rungs_table);
    add_finding(list, find(rows, "K4"), find(rows, "K3"),
                "Threads that add many elements first: {1} has {0} times the bandwidth of {2}.");
    add_finding(list, find(rows, "tree"), fastest(rows),
                "Our {1} has {0} times the bandwidth of the fastest rung, {2}.");
    add_finding(list, find(rows, "tree"), find(rows, "cub::DeviceReduce::Sum"), "Our {1} has {0} times that of {2}.");
    std::string varying;
    for (const LadderRow& r : rows)
        if (r.distinct && *r.distinct > 1)
            varying += fmt::format("{}{} ({} of {})", varying.empty() ? "" : ", ", r.rung, integer(*r.distinct),
                                   integer(r.runs.value_or(0)));
    if (!varying.empty())
        list.push_back("More than one bit pattern from the same input, in so many runs: " + varying + ".");
    return list;
}

std::vector<std::string> words(const Results& results) {
    std::vector<std::string> list{
        "The kernels by which reductions are taught, each with what changed since the one below (kernels/ladder/), "
        "timed like all else here: in turns, on data that is not in the "
        "cache, the median. Batched rungs run as in the literature, one block a row of as many elements as its threads "
        "take; all others sum one array.",
        "Bits and errors are of other data, positive numbers of very different sizes in one array; the error is that "
        "of the last run. A guarantee of run_to_run holds for one launch on one GPU; "
        "order and device hold everywhere (section Methods)."};
    const Metric peak = results.provenance.gpu ? results.provenance.gpu->peak_gb_per_s : Metric();
    const LadderRows rows = ladder_rows_of(results, rungs_table);
    if (const LadderRow* const read = find(rows, "read"); read && read->gb_per_s)
        list.push_back(fmt::format("Peak bandwidth: {} GB/s by the device's own properties, {} GB/s as the read-only "
                                   "kernel of the same run reaches it. Both ratios are given.",
                                   peak ? gigabytes_per_second(peak) : std::string("unknown"),
                                   gigabytes_per_second(read->gb_per_s)));
    if (!published().empty()) {
        const PublishedRow& p = published().front();
        list.push_back(fmt::format("Published: figures that others took on another GPU, an {} ({} GB/s), from {}. They "
                                   "are not ours and not of this GPU.",
                                   p.gpu, fixed(p.peak_gb_per_s, 0), p.source));
    }
    return list;
}

} // namespace

Section ladder_section(const Results& results) {
    Section section{"ladder",
                    "The ladder",
                    words(results),
                    findings(results),
                    {size_chart(results), endings_chart(results), per_thread_chart(results)},
                    {},
                    {}};
    const LadderRows sizes = ladder_rows_of(results, sizes_table);
    section.tables = {rungs(results),
                      parameters(results, threads_table, "Threads per block"),
                      parameters(results, per_thread_table, "Elements per thread"),
                      parameters(results, coalesced_table, "Coalesced or not"),
                      by_size(sizes, "ladder-endings", "How the grid ends: median µs of a sum of n elements of f32",
                              [](const LadderRow& r) { return is_ending(r) || is_ours(r); }),
                      by_size(sizes, "ladder-sizes", "Against the size of the data: median µs",
                              [](const LadderRow&) { return true; }),
                      softmax(results)};
    section.tables[5].folded = true;
    std::erase_if(section.tables, [](const Table& t) { return t.rows.empty(); });
    return section;
}

} // namespace detreduce::report
