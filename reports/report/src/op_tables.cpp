#include "op_tables.hpp"

#include <algorithm>

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
    std::vector<ColumnKey> columns;
    for (const std::string& method : distinct_of(list, [](const Timed& t) { return t.method; }))
        for (const std::string& dtype : distinct_of(list, [](const Timed& t) { return t.row->dtype; }))
            if (std::any_of(list.begin(), list.end(),
                            [&](const Timed& t) { return t.method == method && t.row->dtype == dtype; }))
                columns.push_back({dtype, method});
    return columns;
}

// One line a `line_of`, one column a method and dtype.
template <class LineOf, class CellOf>
Table table_of(Table table, const std::vector<Timed>& list, Names names, LineOf line_of, CellOf cell_of) {
    const std::vector<ColumnKey> columns = columns_of(list);
    for (const ColumnKey& c : columns)
        table.columns.push_back({c.dtype + " " + names(c.method)});
    for (const std::string& line : distinct_of(list, line_of)) {
        std::vector<Cell> cells{{line}};
        for (const ColumnKey& c : columns) {
            const auto at = std::find_if(list.begin(), list.end(), [&](const Timed& t) {
                return line_of(t) == line && t.row->dtype == c.dtype && t.method == c.method;
            });
            cells.push_back(at == list.end() || !at->row->median_s ? Cell{dash, "", Mood::absent} : cell_of(*at->row));
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

// Nothing reads all bytes in half the time that reading takes: what does, reads a part, and its share means nothing.
constexpr double reads_a_part = 2;

Cell share_or_time(const CostRow& r) {
    if (r.ratio_to_read && *r.ratio_to_read > reads_a_part) return {microseconds(r.median_s) + " µs"};
    return {fixed(r.ratio_to_read, 3)};
}

Metric time_of(const char* candidate, const std::vector<CostRow>& rows, const std::string& dtype) {
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const CostRow& r) { return r.candidate == candidate && r.dtype == dtype; });
    return at == rows.end() ? Metric{} : at->median_s;
}

// Files of before hold CUB's sum alone.
bool has_own_cub(const std::vector<CostRow>& rows) {
    return std::any_of(rows.begin(), rows.end(),
                       [](const CostRow& r) { return r.candidate.starts_with("cub::") && timed(r).op != "sum"; });
}

Metric time_of_cub(const std::string& op, const std::vector<CostRow>& rows, const std::string& dtype) {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const CostRow& r) {
        return r.candidate.starts_with("cub::") && r.dtype == dtype && timed(r).op == op;
    });
    return at == rows.end() ? Metric{} : at->median_s;
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

Table row_ops_table(const std::vector<CostRow>& rows, Names names) {
    const std::string heading = common_size(rows, bytes_text) + ", share of the read-only kernel, or of a copy (c)";
    const auto cell = [&](const CostRow& r) {
        if (!writes_rows(timed(r).op)) return Cell{fixed(r.ratio_to_read, 3)};
        const Metric copy = time_of(copy_name, rows, r.dtype);
        return copy ? Cell{fixed(*copy / *r.median_s, 3)} : Cell{dash, "", Mood::absent};
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
    const auto cell = [&](const CostRow& r) {
        const Metric reference = time_of_cub(own ? timed(r).op : "sum", rows, r.dtype);
        return reference ? Cell{fixed(*r.median_s / *reference, 3)} : Cell{dash, "", Mood::absent};
    };
    return table_of(
        {"ops-small",
         fmt::format("Ops on little data: time relative to CUB's {}", own ? "nearest algorithm" : "sum"),
         {{heading, false}},
         {}},
        candidates(rows), names, [&](const Timed& t) { return names(t.op); }, cell);
}

} // namespace detreduce::report
