// What each file of the program offers to main(): one function that adds one subcommand.
#pragma once

#include <stdexcept>

#include <CLI/CLI.hpp>

namespace detreduce::program {

/// Thrown by a command that failed: main() prints `detreduce: ` and the text as one line on stderr and exits with 1.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void add_reduce(CLI::App& app);
void add_devices(CLI::App& app);
void add_report(CLI::App& app);
void add_render(CLI::App& app);

} // namespace detreduce::program
