// results.json: writing and reading the model.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "model.hpp"

namespace detreduce::report {

/// The text of results.json: keys in a fixed order, shortest decimals that read back to the same
/// double.
[[nodiscard]] std::string to_json(const Results& results);

/// Reads what to_json() wrote. Throws program::Failure, naming `source` and the offending key, for
/// anything else.
[[nodiscard]] Results from_json(std::string_view text, const std::string& source);

[[nodiscard]] Results load_results(const std::filesystem::path& file);

} // namespace detreduce::report
