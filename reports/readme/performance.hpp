// README's tables from a folder of results.
#pragma once

#include <filesystem>
#include <string>

namespace detreduce::readme {

/// All tables, each under a paragraph that says which file of `folder` it is from. `link` is how README names the
/// folder. Throws program::Failure when a file is missing or not what it should be.
[[nodiscard]] std::string performance(const std::filesystem::path& folder, const std::string& link);

} // namespace detreduce::readme
