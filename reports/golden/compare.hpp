// Results against the table.
#pragma once

#include "golden/table.hpp"

namespace detreduce::golden {

/// Of one method, or of all.
struct Tally {
    std::uint64_t results = 0;
    std::uint64_t different = 0;
    std::uint64_t fingerprint =
        0xcbf29ce484222325u; ///< FNV-1a, 64 bits, over the bytes of the results, lowest first, in the table's order
};

struct MethodTally {
    Method method;
    Tally tally;
};

struct Difference {
    Entry expected;
    std::uint64_t got;
};

struct Verdict {
    std::vector<MethodTally> methods; ///< in the order of methods()
    Tally all;
    std::vector<Difference> first; ///< the first few that differ
};

/// `got[i]` is what came out for the table's entry i.
[[nodiscard]] Verdict compare(const Table& table, const std::vector<std::uint64_t>& got);

/// The cases of the table, as compute() takes them.
[[nodiscard]] std::vector<Case> cases_of(const Table& table);

} // namespace detreduce::golden
