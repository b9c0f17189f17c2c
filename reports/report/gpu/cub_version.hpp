#pragma once

#include <string>

namespace detreduce::report::gpu {

[[nodiscard]] std::string cub_version();   ///< "3.0.1"
[[nodiscard]] std::string cuda_compiler(); ///< "nvcc 13.0.88"

} // namespace detreduce::report::gpu
