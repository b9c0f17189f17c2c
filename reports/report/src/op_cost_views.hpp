// Rows of the cost of ops and shapes, as their tables and plots take them.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "op_names.hpp"
#include "row_op_names.hpp"
#include "table.hpp"

namespace detreduce::report::op_cost {

using Rows = std::vector<OpCostRow>;

/// One dtype on one device.
struct View {
    std::string id, words;
    Rows rows;
};
[[nodiscard]] std::vector<View> views_of(const Results& results);

/// The read-only pass and the copy.
[[nodiscard]] inline bool is_yardstick(const OpCostRow& r) {
    return r.op == "read" || r.op == copy_name;
}
/// All of a GPU's; of a CPU's those that the standard library, which has no threads, is compared
/// with.
[[nodiscard]] inline bool on_one_thread(const OpCostRow& r) {
    return r.variant.empty() || r.variant == "1 thread";
}

/// Whose algorithm it is: each has another one for another op, and they share a column and a
/// colour.
[[nodiscard]] std::string maker_of(const OpCostRow& r);

template <class Wanted>
[[nodiscard]] Rows where(const Rows& rows, Wanted wanted) {
    Rows kept;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), wanted);
    return kept;
}

/// The fastest that was measured, or null; a library may have two algorithms for one op.
[[nodiscard]] inline const OpCostRow* fastest(const std::vector<const OpCostRow*>& rows) {
    const OpCostRow* best = nullptr;
    for (const OpCostRow* r : rows)
        if (r->median_s && (!best || *r->median_s < *best->median_s)) best = r;
    return best;
}

/// The fastest copy of each n, of rows that have them.
class Copies {
  public:
    explicit Copies(const Rows& rows);
    /// Speed relative to reading, or to copying, the same bytes.
    [[nodiscard]] Metric share_of(const OpCostRow& r) const;

  private:
    std::map<std::uint64_t, double> seconds_;
};

/// A few ops and shapes against n, where more than one was measured: bandwidth, and what that is of
/// the yardstick's.
void add_charts(Section& section, const View& view);

} // namespace detreduce::report::op_cost
