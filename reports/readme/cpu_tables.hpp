// Tables of what `detreduce report` timed on a CPU.
#pragma once

#include <cstdint>
#include <string>

#include "table.hpp"

namespace detreduce::readme {

/// n elements of normal data by one thread, the fastest instruction set; null: not measured.
[[nodiscard]] const report::CostRow* one_thread(const report::Results& results, const std::string& dtype,
                                                std::uint64_t n, const std::string& candidate);

/// Candidates × dtypes, ns an element at the largest size.
[[nodiscard]] report::Table cpu_sums_table(const report::Results& results);

/// Ops of f32 × methods and the nearest peer, ns an element.
[[nodiscard]] report::Table cpu_ops_table(const report::Results& results);

} // namespace detreduce::readme
