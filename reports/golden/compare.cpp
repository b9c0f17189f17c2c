#include "golden/compare.hpp"

#include <stdexcept>

namespace detreduce::golden {
namespace {

constexpr std::size_t few = 10;

void count(Tally& tally, const Entry& expected, std::uint64_t got) {
    ++tally.results;
    tally.different += got != expected.bits;
    for (std::size_t i = 0; i < size_of(expected.of.output); ++i)
        tally.fingerprint = (tally.fingerprint ^ (got >> (8 * i) & 0xff)) * 0x100000001b3u;
}

} // namespace

Verdict compare(const Table& table, const std::vector<std::uint64_t>& got) {
    if (got.size() != table.entries.size()) throw std::logic_error("as many results as entries are needed");
    Verdict verdict;
    for (const MethodInfo& m : methods()) {
        Tally tally;
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (table.entries[i].of.method == m.method) count(tally, table.entries[i], got[i]);
        }
        if (tally.results > 0) verdict.methods.push_back({m.method, tally});
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        const Entry& expected = table.entries[i];
        count(verdict.all, expected, got[i]);
        if (got[i] != expected.bits && verdict.first.size() < few) verdict.first.push_back({expected, got[i]});
    }
    return verdict;
}

std::vector<Case> cases_of(const Table& table) {
    std::vector<Case> cases;
    for (const Entry& entry : table.entries)
        cases.push_back(entry.of);
    return cases;
}

} // namespace detreduce::golden
