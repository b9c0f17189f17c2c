// The program around reductions of somebody's own: `detreduce report` with them in it. Implemented
// in command_report.cpp, which reads the options.
#pragma once

#include <vector>

#include <detreduce/accuracy/study.hpp>

namespace detreduce::program {

/// What its main() returns.
[[nodiscard]] int own_report(int argc, const char* const* argv,
                             const std::vector<accuracy::OwnReduction>& own) noexcept;

} // namespace detreduce::program
