// Sums by ranks that are there: processes of MPI, or GPUs with NCCL. Programs of their own beside
// this one (../ranks) make them, as no program should need these libraries for a report.
#pragma once

#include <string>
#include <vector>

#include "measure.hpp"

namespace detreduce::report {

/// So many ranks, where there are as many.
inline constexpr int rank_counts[] = {1, 2, 3, 4, 8};

/// For each number of ranks what detreduce_mpi_sums under mpiexec, or detreduce_nccl_sums, prints:
/// a line for each dtype and method, "f32 exact mpi 0x3f800000". Empty where there is no such
/// program, no mpiexec or no GPU. Throws program::Failure when it fails or takes minutes,
/// program::Interrupted after Ctrl-C.
[[nodiscard]] std::vector<std::string> mpi_sums(const Options& options, const Progress& progress);
[[nodiscard]] std::vector<std::string> nccl_sums(const Options& options, const Progress& progress);

} // namespace detreduce::report
