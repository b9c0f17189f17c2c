// Files that `detreduce report` and `detreduce render` are given beside the results: looked at
// before anything is measured.
#pragma once

#include <string>
#include <vector>

#include "compare.hpp"
#include "measure.hpp"

namespace detreduce::program {

/// The files of --data. Throws Failure, naming --data and the file.
[[nodiscard]] std::vector<report::DataFile> load_data(const std::vector<std::string>& files);

/// The files of --compare. Throws Failure, naming --compare and the file.
[[nodiscard]] std::vector<report::OtherRun> load_others(const std::vector<std::string>& files);

} // namespace detreduce::program
