#include "sum_tables.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "text.hpp"

namespace detreduce::readme {
namespace {

using namespace report;

const std::vector<std::string> with_share{"exact", "tree"}; // the default, and the fastest

std::string title_of(const std::string& candidate) {
    if (candidate == "read") return candidate;
    return candidate.starts_with("cub::") ? "CUB Sum" : code(candidate);
}

std::string words_of_data(const std::string& data) {
    static const std::map<std::string, std::string> words{
        {"half_zeros", "half of them zeros"},    {"lognormal", "log-normal, σ = 3"},
        {"outlier", "normal, one of them huge"}, {"wide", "exponents over 100 binades (f16: all of them)"},
        {"worst", "every finite bit pattern"},   {"adversary", "the worst that a search found"},
    };
    const auto at = words.find(data);
    return at == words.end() ? data : at->second;
}

// Candidates as a caller gets them, without the launches that were tried.
std::vector<CostRow> chosen(const std::vector<CostRow>& cost) {
    std::vector<CostRow> rows;
    for (const CostRow& r : cost)
        if (r.variant.empty() || r.variant == "automatic") rows.push_back(r);
    return rows;
}

std::vector<CostRow> of_data(const std::vector<CostRow>& cost, const std::string& data) {
    std::vector<CostRow> rows;
    for (const CostRow& r : cost)
        if (r.data == data) rows.push_back(r);
    return rows;
}

std::uint64_t most_bytes(const std::vector<CostRow>& rows) {
    std::uint64_t most = 0;
    for (const CostRow& r : rows)
        most = std::max(most, r.bytes);
    return most;
}

// Of the many sizes: from where launching is all that counts to where it no longer does, and the
// largest.
bool worth_a_line(const CostRow& r, std::uint64_t most) {
    static const std::set<std::uint64_t> sizes{1u << 15, 1u << 18, 1u << 20, 1u << 22, 1u << 24, 1u << 28};
    return r.bytes == most || sizes.count(r.n) > 0;
}

std::string size_label(const CostRow& r) {
    return r.dtype + " " + count_of(r.n);
}

template <class Text>
Cell cell_of(const std::vector<CostRow>& rows, const std::string& size, const std::string& candidate, Text text) {
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const CostRow& r) { return size_label(r) == size && r.candidate == candidate; });
    return at == rows.end() || !at->median_s ? Cell{dash, "", Mood::absent} : Cell{text(*at)};
}

std::string time_text(const CostRow& r) {
    return microseconds(r.median_s);
}
std::string share_text(const CostRow& r) {
    return fixed(r.ratio_to_read, 3);
}

} // namespace

std::string code(const std::string& name) {
    return "`" + name + "`";
}

Table sizes_table(const std::vector<CostRow>& cost) {
    std::vector<CostRow> rows = of_data(chosen(cost), plain_data);
    const std::uint64_t most = most_bytes(rows);
    std::erase_if(rows, [&](const CostRow& r) { return !worth_a_line(r, most); });
    const std::vector<std::string> candidates = distinct_of(rows, [](const CostRow& r) { return r.candidate; });
    Table table{"sizes", "Sums of normal data", {{"n", false}}, {}};
    for (const std::string& c : candidates)
        table.columns.push_back({title_of(c)});
    for (const std::string& c : with_share)
        table.columns.push_back({code(c) + " / read"});
    for (const std::string& size : distinct_of(rows, size_label)) {
        std::vector<Cell> cells{{size}};
        for (const std::string& c : candidates)
            cells.push_back(cell_of(rows, size, c, time_text));
        for (const std::string& c : with_share)
            cells.push_back(cell_of(rows, size, c, share_text));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

Table data_table(const std::vector<CostRow>& cost) {
    const std::uint64_t most = most_bytes(cost);
    std::vector<CostRow> rows = chosen(cost);
    std::erase_if(rows, [&](const CostRow& r) { return r.candidate != "exact" || r.bytes != most; });
    const std::string heading = fmt::format("{}, {}, share of the read-only kernel", code("exact"), bytes_of(most));
    Table table{"data", "Kinds of data", {{heading, false}}, {}};
    const std::vector<std::string> sizes = distinct_of(rows, size_label);
    for (const std::string& dtype : distinct_of(rows, [](const CostRow& r) { return r.dtype; }))
        table.columns.push_back({dtype});
    for (const std::string& data : distinct_of(rows, [](const CostRow& r) { return r.data; })) {
        std::vector<Cell> cells{{words_of_data(data)}};
        for (const std::string& size : sizes)
            cells.push_back(cell_of(of_data(rows, data), size, "exact", share_text));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

} // namespace detreduce::readme
