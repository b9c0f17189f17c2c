// Tables of the documents from folders of results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace detreduce::readme {

/// The table called so, under a paragraph that says which file it is from. `folder` has a GPU's
/// results, `xeon-cpu` beside it a CPU's; `link` is how the document names `folder`. Throws
/// program::Failure for a name that there is not, and when a file is missing or not what it should
/// be.
[[nodiscard]] std::string table(const std::string& name, const std::filesystem::path& folder, const std::string& link);

/// All names.
[[nodiscard]] std::vector<std::string> table_names();

} // namespace detreduce::readme
