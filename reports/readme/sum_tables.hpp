// Tables of the sums in launches.csv.
#pragma once

#include <vector>

#include "table.hpp"

namespace detreduce::readme {

/// "`tree`"
[[nodiscard]] std::string code(const std::string& name);

/// Normal data: dtype and size × candidates, medians in µs, and the speed of some relative to
/// reading.
[[nodiscard]] report::Table sizes_table(const std::vector<report::CostRow>& cost);

/// exact at the largest size: kinds of data × dtypes, speed relative to reading.
[[nodiscard]] report::Table data_table(const std::vector<report::CostRow>& cost);

} // namespace detreduce::readme
