// What `detreduce reduce` does, once its options are understood.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <detreduce/plan.hpp>

#include "input.hpp"
#include "job.hpp"

namespace detreduce::program {

struct Source {
    std::string path;
    Format format;
};

struct Task {
    std::vector<Source> files; ///< one after the other; empty: there are only states
    Column column;             ///< of a table
    std::string with;          ///< the second file; empty: there is none
    std::optional<Format> with_format;
    Column with_column;
    std::optional<DType> dtype;          ///< of the elements, if the user said
    std::optional<int> axis;             ///< that is reduced, as NumPy counts
    std::string offsets;                 ///< the file with those of segments; empty: there is none
    std::string ids;                     ///< the file with the segment of each number; empty: there is none
    std::optional<std::uint64_t> groups; ///< segments by id: how many there are, if the user said
    Request request;                     ///< n, dtype and groups are still to come, and with an axis the shape
    std::string device_name;
    std::vector<std::string> add_states;
    std::string save_state; ///< empty: not to be saved
    [[nodiscard]] bool has_states() const { return !save_state.empty() || !add_states.empty(); }
};

/// Reads, reduces, prints and, once that is written out, saves. Prints the result as a decimal (of
/// minmax two, with a space between), one a line where there are many, or a JSON object on one
/// line. With a job all its processes do so, each with its part of the files, and one prints.
/// Throws Failure, UsageError and FailedElsewhere.
void run_task(const Task& task, bool json, const Job* job = nullptr);

} // namespace detreduce::program
