// What each file of the program offers to main(): one function that adds one subcommand.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include <detreduce/types.hpp>

namespace detreduce::program {

/// Thrown by a command that failed: main() prints `detreduce: ` and the text as one line on stderr and exits with 1.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What CLI11 cannot check itself, because it takes several options or the library to see: exit 2 like its own errors.
struct UsageError : CLI::ValidationError {
    using CLI::ValidationError::ValidationError;
};

/// A whole number in decimal, also with zeros in front (CLI11 alone takes 010 for octal, and wraps negative numbers).
/// `refusal` is what is said of other text, after that text in quotes.
[[nodiscard]] CLI::Validator decimal_number(std::uint64_t largest, const std::string& refusal);

/// `cpu`, `cuda` or `cuda:INDEX`; UsageError otherwise.
[[nodiscard]] Device parse_device(const std::string& text);

/// What to say when the GPU that was asked for cannot be used.
[[nodiscard]] Failure no_such_gpu(const std::string& asked);

void add_reduce(CLI::App& app);
void add_devices(CLI::App& app);
void add_verify(CLI::App& app);
void add_report(CLI::App& app);
void add_render(CLI::App& app);

} // namespace detreduce::program
