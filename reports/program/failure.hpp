// How the program's parts fail. Apart from command.hpp, because CLI11 takes long to compile.
#pragma once

#include <stdexcept>

namespace detreduce::program {

/// Thrown by a command that failed: main() prints `detreduce: ` and the text as one line on stderr
/// and exits with 1.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What CLI11 cannot check itself, because it takes several options or the library to see: exit 2
/// like its errors.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A device has not as much free memory as was asked for: whoever can do with less may catch this.
struct OutOfMemory : Failure {
    using Failure::Failure;
};

/// The user pressed Ctrl-C: main() prints the text like that of a Failure and exits with 130, as
/// shells do.
struct Interrupted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace detreduce::program
