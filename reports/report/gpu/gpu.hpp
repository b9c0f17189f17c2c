// What measuring needs of a GPU, without CUDA headers. Implemented in *.cu, or in none.cpp when the
// build has no CUDA; whoever calls has found a usable device with detreduce::cuda::devices().
#pragma once

#include <span>
#include <vector>

#include "measure.hpp"
#include "runner.hpp"

namespace detreduce::report::gpu {

/// run_job() on job.device.index.
void run_job(const Job& job, const Input& input, DType output, void* results);

/// run_split() on that device.
void run_split(const Device& device, const Split& split, const Input& input, DType output, void* result);

/// report::run_on() on that device.
void run_on(const Device& device, std::span<const HostArray> in, void* result, std::size_t result_bytes,
            std::size_t workspace_bytes, const Launched& launch);

/// What cub::DeviceReduce::Sum gives on that device.
void cub_sum(const Device& device, const Input& input, void* result);

/// Section 4 on options.device.index: rows one by one, and notes for readers.
void measure_cost(const Options& options, Progress& progress, Results& results);

/// The cost of ops and shapes on options.device.index.
void measure_op_cost(const Options& options, Progress& progress, Results& results);

/// The ladder on options.device.index: up to `n` elements of f32, `runs` runs for bits.
void measure_ladder(const Options& options, std::uint64_t n, int runs, Progress& progress, Results& results);

[[nodiscard]] Gpu describe(int index);

/// Compiler of the CUDA code, e.g. "nvcc 13.0.88"; empty without CUDA.
[[nodiscard]] std::string compiler();

} // namespace detreduce::report::gpu
