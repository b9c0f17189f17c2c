// What measuring needs of a GPU, without CUDA headers. Implemented in *.cu, or in none.cpp when the build has no
// CUDA; whoever calls has found a usable device with detreduce::cuda::devices().
#pragma once

#include <span>
#include <vector>

#include "measure.hpp"
#include "runner.hpp"

namespace detreduce::report::gpu {

/// results_of() on job.device.index.
[[nodiscard]] std::vector<float> results_of(const Job& job, std::span<const float> data);
[[nodiscard]] std::vector<double> results_of(const Job& job, std::span<const double> data);

/// Section 3 on options.device.index; what a reader has to know goes to `notes`.
[[nodiscard]] std::vector<CostRow> measure_cost(const Options& options, Progress& progress,
                                                std::vector<std::string>& notes);

[[nodiscard]] Gpu describe(int index);

/// Compiler of the CUDA code, e.g. "nvcc 13.0.88"; empty without CUDA.
[[nodiscard]] std::string compiler();

} // namespace detreduce::report::gpu
