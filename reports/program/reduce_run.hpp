// What `detreduce reduce` does, once its options are understood.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <detreduce/plan.hpp>

#include "input.hpp"

namespace detreduce::program {

struct Task {
    std::string file;             ///< empty: there is none, only states
    std::optional<Format> format; ///< of the file
    std::string with;             ///< the second file; empty: there is none
    std::optional<Format> with_format;
    std::optional<DType> dtype; ///< of the elements, if the user said
    Request request;            ///< n and dtype are still to come
    std::string device_name;
    std::vector<std::string> add_states;
    std::string save_state; ///< empty: not to be saved
};

/// Reads, reduces and saves; the result as a decimal (of minmax two, with a space between), or as a JSON object on one
/// line. Throws Failure and UsageError.
[[nodiscard]] std::string run_task(const Task& task, bool json);

} // namespace detreduce::program
