// Which method does one need, and what sums that are easy to get wrong give.
#pragma once

#include <string>

#include "table.hpp"

namespace detreduce::readme {

/// Situation, call, guarantee, speed on a GPU relative to reading, and time of an element on a CPU.
[[nodiscard]] report::Table chooser_table(const report::Results& gpu, const report::Results& cpu);

/// How much data the speed on a GPU is of: "4 GiB".
[[nodiscard]] std::string chooser_size(const report::Results& gpu);

/// Of an element of f32, by one thread, at the largest size: ns, "0.42"; a dash: not measured.
[[nodiscard]] std::string cpu_cost(const report::Results& cpu, const std::string& candidate);

/// Edge cases × exact, tree and CUB's default.
[[nodiscard]] report::Table edge_table(const report::Results& results);

} // namespace detreduce::readme
