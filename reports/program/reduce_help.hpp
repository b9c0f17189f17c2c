#pragma once

#include <string>

namespace detreduce::program {

[[nodiscard]] std::string reduce_footer();      ///< of --help: names and examples
[[nodiscard]] std::string reduce_explanation(); ///< of --help-all: what ops, methods, files and states are

} // namespace detreduce::program
