// A device with too little memory for one point: a note says what was left out, and the report goes
// on.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "failure.hpp"
#include "measure.hpp"

namespace detreduce::report {

/// measure(), and if that runs out of memory the note that `what`, "The error of …", was left out.
template <class Measure>
void unless_out_of_memory(Results& results, const std::string& what, Measure&& measure) {
    try {
        std::forward<Measure>(measure)();
    } catch (const program::OutOfMemory& error) {
        results.provenance.notes.push_back(fmt::format("{} was left out: {}.", what, error.what()));
    }
}

} // namespace detreduce::report
