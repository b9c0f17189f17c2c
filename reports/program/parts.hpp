// Reductions of numbers as they are read, in memory that does not grow with them.
#pragma once

#include <string>

#include <detreduce/plan.hpp>

#include "host/partial.hpp"
#include "input.hpp"

namespace detreduce::program {

/// A file of numbers, and how messages call it.
struct Named {
    NumberFile& file;
    std::string name;
};

/// Reads both to their ends, in step: y, where the op has one, must have as many numbers. For
/// requests that host::Partial::can().
[[nodiscard]] host::Partial reduce_parts(const Request& request, const Named& x, const Named* y);

/// The same of a request for states, on the CPU: adds what is read to `states`. How many numbers
/// there were.
std::uint64_t add_parts(Request request, const Named& x, const Named* y, std::int64_t* states);

} // namespace detreduce::program
