// Tables of reductions by several processes and GPUs.
#pragma once

#include <string>

#include "model.hpp"
#include "table.hpp"

namespace detreduce::readme {

/// What adds up the sums of the ranks × dtypes: how many bit patterns there were over numbers of
/// ranks. Without rows where no rank was another process or GPU.
[[nodiscard]] report::Table rank_table(const report::Results& results);

/// What `detreduce_nccl_tests --time` printed on `gpu`: what a sum by all costs above that of one
/// and a bare all-reduce, and how much more is read by more GPUs. Throws program::Failure, naming
/// `source`, when the text has no such line.
[[nodiscard]] report::Table gpu_scaling_table(const std::string& printed, const std::string& source,
                                              const std::string& gpu);

} // namespace detreduce::readme
