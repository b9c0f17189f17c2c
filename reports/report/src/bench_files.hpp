// What detreduce_gpu_bench wrote beside results.json: sums by every schedule, which
// `detreduce report` times, too, and ops and shapes, which it does not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model.hpp"

namespace detreduce::report {

inline constexpr const char* sums_file = "launches.csv";
inline constexpr const char* ops_file = "ops.csv";
inline constexpr const char* small_ops_file = "ops_small.csv";
inline constexpr const char* shapes_file = "shapes.csv";
inline constexpr const char* row_ops_file = "row_ops.csv";
inline constexpr const char* adversaries_file = "adversaries.csv"; ///< which no page shows, but README

struct BenchFile {
    std::string name;   ///< ops, small ops, shapes or row ops
    std::string origin; ///< GPU, commit and date, in words
    std::vector<CostRow> rows;
};

/// Those of these four that are in `folder`. Throws program::Failure when one is there but cannot
/// be understood.
[[nodiscard]] std::vector<BenchFile> load_bench_files(const std::filesystem::path& folder);

} // namespace detreduce::report
