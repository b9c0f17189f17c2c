// A table as Markdown.
#pragma once

#include <string>

#include "table.hpp"

namespace detreduce::readme {

/// Cells are words and figures of our own: nothing to escape but bars, and names in `code` to keep.
/// What is absent is an empty cell.
[[nodiscard]] std::string markdown(const report::Table& table);

} // namespace detreduce::readme
