// How the program's parts fail. Apart from command.hpp, because CLI11 takes long to compile.
#pragma once

#include <stdexcept>

namespace detreduce::program {

/// Thrown by a command that failed: main() prints `detreduce: ` and the text as one line on stderr and exits with 1.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What CLI11 cannot check itself, because it takes several options or the library to see: exit 2 like its errors.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace detreduce::program
