// Tables of what detreduce_gpu_bench timed beside the sum of a flat array: other ops, other shapes.
// For README and page.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace detreduce::report {

/// How the names of ops and methods are shown.
using Names = std::string (*)(const std::string&);

[[nodiscard]] inline std::string plain_name(const std::string& name) {
    return name;
}

/// Ops, speed relative to reading the same bytes.
[[nodiscard]] Table ops_table(const std::vector<CostRow>& rows, Names names);

/// Rows, columns, segments and lists of tensors, speed relative to reading the same bytes; the time
/// of those that read only a part of them.
[[nodiscard]] Table shapes_table(const std::vector<CostRow>& rows, Names names);

/// Of the shapes that CUB has: its time relative to ours.
[[nodiscard]] Table shapes_and_cub_table(const std::vector<CostRow>& rows, Names names);

/// Row ops and losses, speed relative to reading, or copying, the same bytes.
[[nodiscard]] Table row_ops_table(const std::vector<CostRow>& rows, Names names);

/// Ops, time relative to that of the nearest CUB algorithm over the same bytes; of CUB's sum where
/// the rows hold no other.
[[nodiscard]] Table ops_and_cub_table(const std::vector<CostRow>& rows, Names names);

} // namespace detreduce::report
