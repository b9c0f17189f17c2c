// Measuring: fills the model. Each section is one function and one file.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <detreduce/accuracy/study.hpp>
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
    std::uint64_t largest_n =
        std::numeric_limits<std::uint64_t>::max(); ///< larger sums are left out, but edge cases and the ladder
    std::vector<accuracy::OwnReduction> own = {};  ///< none: the whole report; else tree and exact beside these
    std::vector<std::string> sections = {};        ///< of section_names(); empty: all
    std::vector<Device> more_devices = {};         ///< measured beside `device`; the CPU, if it is one of them, last
};

/// What --sections may name, in the order in which they are measured; `of_own`: of a study of
/// somebody's own reductions.
[[nodiscard]] std::vector<std::string> section_names(bool of_own = false);

/// Fills `results`. Throws program::Failure when something cannot be measured that should be, and
/// program::Interrupted after Ctrl-C; then, as after any other exception, `results` holds what was
/// measured until then, and provenance.incomplete says why it ended.
void measure(const Options& options, Progress& progress, Results& results);

// One section each: appends its rows, one by one, so that those that are there stay when it throws,
// and notes for readers.
void measure_error(const Options& options, Progress& progress, Results& results);
/// Of ops other than the sum, and of losses.
void measure_op_error(const Options& options, Progress& progress, Results& results);
void measure_edges(const Options& options, Progress& progress, Results& results);
void measure_determinism(const Options& options, Progress& progress, Results& results);
void measure_cost_on_cpu(const Options& options, Progress& progress, Results& results);
/// results.op_cost.
void measure_op_cost_on_cpu(const Options& options, Progress& progress, Results& results);
void measure_reference(const Options& options, Progress& progress, Results& results);
/// results.data and results.data_sums.
void measure_data(const Options& options, Progress& progress, Results& results);
[[nodiscard]] Provenance provenance_of(const Options& options);

/// `device` and more_devices.
[[nodiscard]] std::vector<Device> devices_of(const Options& options);

/// One method on one device.
struct Placed {
    Method method;
    Device device;
};
/// Each method on every device under test that offers it, or on the CPU when none does.
[[nodiscard]] std::vector<Placed> placed_methods(const Options& options);

/// "cpu", "cuda:0"
[[nodiscard]] std::string name_of(const Device& device);

/// CPU threads that the library uses when not told.
[[nodiscard]] int cpu_threads();

} // namespace detreduce::report
