// Tables of all machines that have results.
#pragma once

#include <string>

#include "folder.hpp"

namespace detreduce::readme {

/// Of sums by several ranks: how many different bits there were.
[[nodiscard]] std::string ranks(const Folder& folder);
/// Of sums by several GPUs, over NCCL: how long they take.
[[nodiscard]] std::string gpus(const Folder& folder);
/// Of processes beside threads: tables that people typed in of what hyperfine said.
[[nodiscard]] std::string processes(const Folder& folder);
/// Which runs there were, and how they ended. Nothing is claimed of a machine that is not named
/// there.
[[nodiscard]] std::string verified(const Folder& folder);

} // namespace detreduce::readme
