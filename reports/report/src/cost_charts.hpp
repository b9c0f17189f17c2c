// The plots of what sums cost, and what they have in common with its tables.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"
#include "plot.hpp"

namespace detreduce::report {

/// "exact, 1 thread, avx2"
[[nodiscard]] std::string cost_label(const CostRow& r);

[[nodiscard]] bool one_thread(const CostRow& r);

/// Those of plain_data.
[[nodiscard]] std::vector<CostRow> plain_rows_of(const std::vector<CostRow>& all);

/// Bandwidth, and speed relative to reading: of each dtype on each device, on the CPU by one thread
/// and by all.
[[nodiscard]] std::vector<LineChart> cost_charts(const Results& results);

} // namespace detreduce::report
