#include "golden/compare.hpp"

#include <algorithm>
#include <stdexcept>

namespace detreduce::golden {
namespace {

constexpr std::size_t few = 10;

void count(Tally& tally, std::uint64_t expected, std::uint64_t got, std::size_t bytes) {
    ++tally.results;
    tally.different += got != expected;
    tally.fingerprint = fingerprint_with(tally.fingerprint, got, bytes);
}

void count(Tally& tally, const Entry& expected, std::uint64_t got) {
    count(tally, expected.bits, got, bits_bytes_of(expected.of));
}

Tally& tally_named(const std::string& name, std::vector<CallTally>& tallies) {
    const auto found = std::find_if(tallies.begin(), tallies.end(), [&](const CallTally& t) { return t.name == name; });
    if (found != tallies.end()) return found->tally;
    tallies.push_back({name, {}});
    return tallies.back().tally;
}

void add_calls(const std::vector<CallResult>& table, const std::vector<CallResult>& got, Verdict& verdict) {
    if (got.size() != table.size()) throw std::runtime_error("the tables of golden results have not these calls");
    for (std::size_t i = 0; i < got.size(); ++i) {
        const CallResult& expected = table[i];
        if (got[i].call != expected.call)
            throw std::runtime_error("the tables of golden results have not this call: " + got[i].call);
        for (Tally* const tally : {&tally_named(name_of(expected), verdict.calls), &verdict.all})
            count(*tally, expected.bits, got[i].bits, sizeof got[i].bits);
        if (got[i].bits != expected.bits && verdict.first_calls.size() < few)
            verdict.first_calls.push_back({expected, got[i].bits});
    }
}

/// Of the cases that belong to it.
template <class Belongs>
Tally tally_of(const Table& table, const std::vector<std::uint64_t>& got, const Belongs& belongs) {
    Tally tally;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (belongs(table.entries[i].of)) count(tally, table.entries[i], got[i]);
    }
    return tally;
}

} // namespace

Verdict compare(const Table& table, const std::vector<std::uint64_t>& got, const std::vector<CallResult>& calls) {
    if (got.size() != table.entries.size()) throw std::logic_error("as many results as entries are needed");
    Verdict verdict;
    for (const MethodInfo& m : methods()) {
        const auto of_method = [&](const Case& c) { return is_flat_sum(c) && c.method == m.method; };
        const Tally tally = tally_of(table, got, of_method);
        if (tally.results > 0) verdict.methods.push_back({m.method, tally});
    }
    for (const Shape shape : {Shape::flat, Shape::rows, Shape::columns, Shape::segments, Shape::tensors}) {
        for (const OpInfo& op : ops()) {
            const auto of_op = [&](const Case& c) { return !is_flat_sum(c) && c.op == op.op && c.shape == shape; };
            const Tally tally = tally_of(table, got, of_op);
            if (tally.results > 0) verdict.ops.push_back({op.op, shape, tally});
        }
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        const Entry& expected = table.entries[i];
        count(verdict.all, expected, got[i]);
        if (got[i] != expected.bits && verdict.first.size() < few) verdict.first.push_back({expected, got[i]});
    }
    add_calls(table.calls, calls, verdict);
    return verdict;
}

std::vector<Case> cases_of(const Table& table) {
    std::vector<Case> cases;
    for (const Entry& entry : table.entries)
        cases.push_back(entry.of);
    return cases;
}

} // namespace detreduce::golden
