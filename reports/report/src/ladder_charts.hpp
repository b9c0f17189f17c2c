// The plots of the ladder, and which of its rows they and its tables show.
#pragma once

#include <vector>

#include "model.hpp"
#include "plot.hpp"

namespace detreduce::report {

using LadderRows = std::vector<LadderRow>;

/// Rows of one of the tables of ladder_tables.hpp.
[[nodiscard]] LadderRows ladder_rows_of(const Results& results, const char* table);

[[nodiscard]] bool is_ending(const LadderRow& r); ///< a way to end a grid
[[nodiscard]] bool is_ours(const LadderRow& r);   ///< a method

[[nodiscard]] LineChart size_chart(const Results& results);
[[nodiscard]] LineChart endings_chart(const Results& results);
[[nodiscard]] LineChart per_thread_chart(const Results& results);

} // namespace detreduce::report
