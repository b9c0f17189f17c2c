// Measuring: fills the model. Each section is one function and one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <detreduce/types.hpp>

#include "input.hpp"
#include "model.hpp"
#include "progress.hpp"

namespace detreduce::report {

/// A file that the user gave with --data.
struct DataFile {
    std::string name;
    program::Numbers numbers;
};

struct Options {
    bool quick = false;
    std::uint64_t seed = 1;
    Device device;             ///< index is set when the backend is CUDA
    std::string device_choice; ///< why that device, for readers
    std::string command;
    std::vector<DataFile> data = {};
};

/// Throws program::Failure when something cannot be measured that should be.
[[nodiscard]] Results measure(const Options& options, Progress& progress);

[[nodiscard]] std::vector<ErrorRow> measure_error(const Options& options, Progress& progress);
/// Of ops other than the sum.
[[nodiscard]] std::vector<ErrorRow> measure_op_error(const Options& options, Progress& progress);
[[nodiscard]] std::vector<EdgeRow> measure_edges(const Options& options, Progress& progress);
[[nodiscard]] std::vector<DeterminismRow> measure_determinism(const Options& options, Progress& progress);
[[nodiscard]] std::vector<CostRow> measure_cost_on_cpu(const Options& options, Progress& progress);
[[nodiscard]] std::vector<ReferenceRow> measure_reference(const Options& options, Progress& progress);
/// Fills results.data and results.data_sums.
void measure_data(const Options& options, Progress& progress, Results& results);
[[nodiscard]] Provenance provenance_of(const Options& options);

/// "cpu", "cuda:0"
[[nodiscard]] std::string name_of(const Device& device);

/// CPU threads that the library uses when not told.
[[nodiscard]] int cpu_threads();

} // namespace detreduce::report
