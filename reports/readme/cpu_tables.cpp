#include "cpu_tables.hpp"

#include <algorithm>
#include <set>

#include "peers.hpp"
#include "sum_tables.hpp"
#include "text.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

constexpr const char* one = "1 thread"; // "1 thread, avx512" is one, too

bool by_one_thread(const std::string& variant) {
    return variant == one || variant.starts_with(std::string(one) + ",");
}

std::string nanoseconds(const Metric& seconds, std::uint64_t n) {
    return seconds ? fixed(*seconds / static_cast<double>(n) * 1e9, 2) : dash;
}

std::uint64_t largest(const Results& results, const std::string& dtype) {
    std::uint64_t n = 0;
    for (const CostRow& r : results.cost)
        if (r.dtype == dtype && r.data == plain_data && by_one_thread(r.variant)) n = std::max(n, r.n);
    return n;
}

bool is_method(const std::string& candidate) {
    static const std::set<std::string> methods{"exact", "compensated", "kahan", "tree"};
    return methods.count(candidate) > 0;
}

bool shown(const OpCostRow& r) {
    return r.dtype == "f32" && r.shape == "flat" && r.op != read_name && r.variant == one;
}

} // namespace

const CostRow* one_thread(const Results& results, const std::string& dtype, std::uint64_t n,
                          const std::string& candidate) {
    const CostRow* best = nullptr;
    for (const CostRow& r : results.cost)
        if (r.dtype == dtype && r.n == n && r.data == plain_data && r.candidate == candidate &&
            by_one_thread(r.variant) && r.median_s && (!best || *r.median_s < *best->median_s))
            best = &r;
    return best;
}

Table cpu_sums_table(const Results& results) {
    Table table{"cpu-sums", "Sums on a CPU", {{"ns an element", false}}, {}};
    const std::vector<std::string> dtypes = distinct_of(results.cost, [](const CostRow& r) { return r.dtype; });
    for (const std::string& dtype : dtypes)
        table.columns.push_back({dtype});
    for (const std::string& candidate : distinct_of(results.cost, [](const CostRow& r) { return r.candidate; })) {
        std::vector<Cell> cells{{candidate == read_name ? candidate : code(candidate)}};
        bool any = false;
        for (const std::string& dtype : dtypes) {
            const std::uint64_t n = largest(results, dtype);
            const CostRow* const row = one_thread(results, dtype, n, candidate);
            cells.push_back(row ? Cell{nanoseconds(row->median_s, n)} : Cell{dash, "", Mood::absent});
            any = any || row;
        }
        if (any) table.rows.push_back(std::move(cells));
    }
    return table;
}

Table cpu_ops_table(const Results& results) {
    static const std::vector<std::string> methods{"exact", "compensated", "kahan", "tree"};
    std::vector<OpCostRow> rows;
    std::uint64_t n = 0;
    for (const OpCostRow& r : results.op_cost)
        if (shown(r)) n = std::max(n, r.n);
    for (const OpCostRow& r : results.op_cost)
        if (shown(r) && r.n == n) rows.push_back(r);
    Table table{"cpu-ops", "Ops on a CPU", {{"ns an element", false}}, {}};
    for (const std::string& m : methods)
        table.columns.push_back({code(m)});
    table.columns.push_back({"the standard library's", false});
    for (const auto& [op, of_op] : rows_by(rows, [](const OpCostRow& r) { return r.op; })) {
        std::vector<Cell> cells{{code(op)}};
        for (const std::string& m : methods) {
            const auto at = std::find_if(of_op.begin(), of_op.end(), [&](const auto& r) { return r.candidate == m; });
            cells.push_back(at == of_op.end() ? Cell{dash, "", Mood::absent} : Cell{nanoseconds(at->median_s, n)});
        }
        std::string peers;
        for (const OpCostRow& r : of_op)
            if (!is_method(r.candidate) && r.candidate.starts_with("std::"))
                peers += (peers.empty() ? "" : ", ") + code(r.candidate) + " " + nanoseconds(r.median_s, n);
        cells.push_back(peers.empty() ? Cell{dash, "", Mood::absent} : Cell{peers});
        table.rows.push_back(std::move(cells));
    }
    return table;
}

} // namespace detreduce::readme
