#include "op_tables.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "failure.hpp"
#include "op_names.hpp"
#include "row_op_names.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

struct Timed {
    std::string op, method, shape;
    const CostRow* row;
};

Timed timed(const CostRow& r) {
    TimedName name = timed_name(r.candidate, r.variant);
    return {std::move(name.op), std::move(name.candidate), std::move(name.shape), &r};
}

// All but what the others are compared with.
std::vector<Timed> candidates(const std::vector<CostRow>& rows) {
    std::vector<Timed> list;
    for (const CostRow& r : rows)
        if (r.candidate != "read" && r.candidate != copy_name && !is_peer(r.candidate)) list.push_back(timed(r));
    return list;
}

std::string bytes_text(const CostRow& r) {
    return bytes_of(r.bytes);
}
std::string count_text(const CostRow& r) {
    return count_of(r.n) + " elements";
}

// A table is of one size and kind of data; two would be lines that look the same.
std::string common_size(const std::vector<CostRow>& rows, std::string (*size)(const CostRow&)) {
    if (rows.empty()) throw program::Failure("a table of ops or shapes has no figures");
    for (const CostRow& r : rows)
        if (size(r) != size(rows[0]) || r.data != rows[0].data)
            throw program::Failure(fmt::format("figures of {} of {} data and of {} of {} data in one table",
                                               size(rows[0]), rows[0].data, size(r), r.data));
    return size(rows[0]);
}

struct ColumnKey {
    std::string dtype, method;
};

// First a method in all dtypes, then the next; only what some row has.
std::vector<ColumnKey> columns_of(const std::vector<Timed>& list) {
    const auto dtype_of = [](const Timed& t) { return t.row->dtype; };
    std::map<std::string, std::size_t> order;
    for (const std::string& dtype : distinct_of(list, dtype_of))
        order.emplace(dtype, order.size());
    std::vector<ColumnKey> columns;
    for (const auto& [method, rows] : rows_by(list, [](const Timed& t) { return t.method; })) {
        std::vector<std::string> dtypes = distinct_of(rows, dtype_of);
        std::sort(dtypes.begin(), dtypes.end(), [&](const auto& a, const auto& b) { return order[a] < order[b]; });
        for (const std::string& dtype : dtypes)
            columns.push_back({dtype, method});
    }
    return columns;
}

// One line a `line_of`, one column a method and dtype.
template <class LineOf, class CellOf>
Table table_of(Table table, const std::vector<Timed>& list, Names names, LineOf line_of, CellOf cell_of) {
    const std::vector<ColumnKey> columns = columns_of(list);
    const auto key_of = [](const std::string& dtype, const std::string& method) { return dtype + "\n" + method; };
    std::vector<std::string> keys;
    for (const ColumnKey& c : columns)
        keys.push_back(key_of(c.dtype, c.method));
    const Crossing crossing(
        list, line_of, [&](const Timed& t) { return key_of(t.row->dtype, t.method); }, std::move(keys));
    for (std::size_t i = 0; i < crossing.columns().size(); ++i)
        table.columns.push_back({columns[i].dtype + " " + names(columns[i].method)});
    for (const auto& line : crossing.lines()) {
        std::vector<Cell> cells{{line.name}};
        for (const auto& cell : line.cells)
            cells.push_back(cell.empty() || !cell.front()->row->median_s ? Cell{dash, "", Mood::absent}
                                                                         : cell_of(*cell.front()->row));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// Nothing reads all bytes in half the time that reading takes: what does, reads a part, and its
// share means nothing.
constexpr double reads_a_part = 2;

Cell share_or_time(const CostRow& r) {
    if (r.ratio_to_read && *r.ratio_to_read > reads_a_part) return {microseconds(r.median_s) + " µs"};
    return {fixed(r.ratio_to_read, 3)};
}

// Files of before hold CUB's sum alone.
bool has_own_cub(const std::vector<CostRow>& rows) {
    return std::any_of(rows.begin(), rows.end(),
                       [](const CostRow& r) { return r.candidate.starts_with("cub::") && timed(r).op != "sum"; });
}

// The first time of each key, of the rows that `wanted` names.
template <class Wanted, class KeyOf>
std::map<std::string, Metric> times_of(const std::vector<CostRow>& rows, Wanted wanted, KeyOf key_of) {
    std::map<std::string, Metric> times;
    for (const CostRow& r : rows)
        if (wanted(r)) times.try_emplace(key_of(r), r.median_s);
    return times;
}

// How long `r` took relative to the one of that key, or the other way round.
Cell relative(const std::map<std::string, Metric>& times, const std::string& key, const CostRow& r, bool speed) {
    const auto other = times.find(key);
    if (other == times.end() || !other->second) return {dash, "", Mood::absent};
    return {fixed(speed ? *other->second / *r.median_s : *r.median_s / *other->second, 3)};
}

} // namespace

Table ops_table(const std::vector<CostRow>& rows, Names names) {
    const std::string heading = common_size(rows, bytes_text) + ", share of the read-only kernel";
    return table_of(
        {"ops", "Ops: speed relative to reading the same bytes", {{heading, false}}, {}}, candidates(rows), names,
        [&](const Timed& t) { return names(t.op); }, [](const CostRow& r) { return Cell{fixed(r.ratio_to_read, 3)}; });
}

Table shapes_table(const std::vector<CostRow>& rows, Names names) {
    const std::string heading = common_size(rows, bytes_text) + ", share of the read-only kernel";
    return table_of(
        {"shapes", "Shapes: speed relative to reading the same bytes", {{heading, false}}, {}}, candidates(rows), names,
        [&](const Timed& t) { return names(t.op) + ", " + t.shape; }, share_or_time);
}

Table shapes_and_cub_table(const std::vector<CostRow>& rows, Names names) {
    const std::string heading = common_size(rows, bytes_text) + ", CUB's time / ours";
    const auto key_of = [](const CostRow& r) {
        const Timed t = timed(r);
        return r.dtype + " " + t.op + " " + t.shape;
    };
    const auto times = times_of(
        rows, [](const CostRow& r) { return r.candidate.starts_with("cub::"); }, key_of);
    if (times.empty()) throw program::Failure("a table of shapes beside CUB has no figures of CUB");
    std::vector<Timed> list = candidates(rows);
    std::erase_if(list, [&](const Timed& t) { return !times.contains(key_of(*t.row)); });
    return table_of(
        {"shapes-cub", "Shapes: CUB's time relative to ours", {{heading, false}}, {}}, list, names,
        [&](const Timed& t) { return names(t.op) + ", " + t.shape; },
        [&](const CostRow& r) { return relative(times, key_of(r), r, true); });
}

Table row_ops_table(const std::vector<CostRow>& rows, Names names) {
    const std::string heading = common_size(rows, bytes_text) + ", share of the read-only kernel, or of a copy (c)";
    const auto copies = times_of(
        rows, [](const CostRow& r) { return r.candidate == copy_name; }, [](const CostRow& r) { return r.dtype; });
    const auto cell = [&](const CostRow& r) {
        if (!writes_rows(timed(r).op)) return Cell{fixed(r.ratio_to_read, 3)};
        return relative(copies, r.dtype, r, true);
    };
    return table_of(
        {"row-ops", "Row ops and losses: speed relative to reading or copying the same bytes", {{heading, false}}, {}},
        candidates(rows), names,
        [&](const Timed& t) { return names(t.op) + ", " + t.shape + (writes_rows(t.op) ? " (c)" : ""); }, cell);
}

Table ops_and_cub_table(const std::vector<CostRow>& rows, Names names) {
    const bool own = has_own_cub(rows);
    const std::string heading =
        common_size(rows, count_text) + ", time / time of " + (own ? "the nearest CUB algorithm" : "CUB Sum");
    const auto key_of = [&](const CostRow& r) { return r.dtype + " " + (own ? timed(r).op : "sum"); };
    const auto times = times_of(
        rows, [&](const CostRow& r) { return r.candidate.starts_with("cub::") && (own || timed(r).op == "sum"); },
        key_of);
    const auto cell = [&](const CostRow& r) { return relative(times, key_of(r), r, false); };
    return table_of(
        {"ops-small",
         fmt::format("Ops on little data: time relative to CUB's {}", own ? "nearest algorithm" : "sum"),
         {{heading, false}},
         {}},
        candidates(rows), names, [&](const Timed& t) { return names(t.op); }, cell);
}

} // namespace detreduce::report
