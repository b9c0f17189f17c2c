// Tables of what reports/python/bench.py and peers.py timed: the Python package beside NumPy, torch
// and others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "table.hpp"

namespace detreduce::readme {

/// A figure of one library.
struct PythonFigure {
    std::optional<double> microseconds; ///< a call or a step; none: it was not timed
    std::string bits;                   ///< of each run or split, and in it of each of several things: "a/b a/b"
};

/// One case, and its figures by library: detreduce, torch, numpy, C; of shapes its methods.
struct PythonCase {
    std::string part, name, dtype, device;
    std::uint64_t elements = 0, threads = 0;
    std::map<std::string, PythonFigure> by_library;
};

struct PythonRun {
    std::string gpu, cpu; ///< no GPU: empty
    std::string origin;   ///< of which versions and commit, when
    std::vector<PythonCase> cases;
};

/// What python.json says. Throws program::Failure, naming `source`, when the text is something
/// else.
[[nodiscard]] PythonRun python_run(const std::string& text, const std::string& source);

/// What a call costs on the host.
[[nodiscard]] report::Table python_calls_table(const PythonRun& run);

/// Sums inside a CUDA graph.
[[nodiscard]] report::Table python_graphs_table(const PythonRun& run);

/// Steps of training: their time, and in how many ways their bits came out.
[[nodiscard]] report::Table python_steps_table(const PythonRun& run);

/// On a CPU, by threads.
[[nodiscard]] report::Table python_cpu_table(const PythonRun& run);

/// Of a part of peers.json: the time of each of `theirs` relative to that of each of `mine`, by
/// dtype.
[[nodiscard]] report::Table peers_table(const PythonRun& run, const std::string& part,
                                        const std::vector<std::string>& mine, const std::vector<std::string>& theirs);

/// Sums of each shape and ops on a CPU, by method and library, one thread.
[[nodiscard]] report::Table python_shapes_table(const PythonRun& run);

} // namespace detreduce::readme
