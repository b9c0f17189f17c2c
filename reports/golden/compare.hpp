// Results against the table.
#pragma once

#include "golden/fingerprint.hpp"
#include "golden/table.hpp"

namespace detreduce::golden {

/// Of one method, one op and shape, or of all. A line of the table is one result here, also where
/// it stands for many.
struct Tally {
    std::uint64_t results = 0;
    std::uint64_t different = 0;
    std::uint64_t fingerprint = empty_fingerprint; ///< over the bytes of the lines' bits, in the table's order
};

struct MethodTally {
    Method method;
    Tally tally;
};

struct OpTally {
    Op op;
    Shape shape;
    Tally tally;
};

/// Of one row op or loss.
struct CallTally {
    std::string name;
    Tally tally;
};

struct Difference {
    Entry expected;
    std::uint64_t got;
};

struct CallDifference {
    CallResult expected;
    std::uint64_t got;
};

struct Verdict {
    std::vector<MethodTally> methods; ///< of flat sums, in the order of methods()
    std::vector<OpTally> ops;         ///< of other reductions, shape by shape, in the order of ops()
    std::vector<CallTally> calls;     ///< of row ops and losses, in the table's order
    Tally all;
    std::vector<Difference> first; ///< the first few that differ
    std::vector<CallDifference> first_calls;
};

/// `got[i]` is what came out for the table's entry i, `calls[i]` for its call i. Throws
/// std::runtime_error where that is another call.
[[nodiscard]] Verdict compare(const Table& table, const std::vector<std::uint64_t>& got,
                              const std::vector<CallResult>& calls);

/// The cases of the table, as compute() takes them.
[[nodiscard]] std::vector<Case> cases_of(const Table& table);

} // namespace detreduce::golden
