// The CSV files of cost rows and published figures, as csv.cpp writes them, read back.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"
#include "published.hpp"

namespace detreduce::report {

/// Reads what cost_csv() wrote. Throws program::Failure, naming `source`, the line and the column,
/// for anything else.
[[nodiscard]] std::vector<CostRow> cost_from_csv(std::string_view text, const std::string& source);

/// The same for published_csv().
[[nodiscard]] std::vector<PublishedRow> published_from_csv(std::string_view text, const std::string& source);

[[nodiscard]] std::vector<CostRow> load_cost(const std::filesystem::path& file);

} // namespace detreduce::report
