// What each file of the program offers to main(): one function that adds one subcommand.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "device_option.hpp"

namespace detreduce::program {

/// A whole number in decimal, also with zeros in front (CLI11 alone takes 010 for octal, and wraps
/// negative numbers). `refusal` is what is said of other text, after that text in quotes.
[[nodiscard]] inline CLI::Validator decimal_number(std::uint64_t largest, const std::string& refusal) {
    return CLI::Validator([=](std::string& text) { return take_decimal(text, largest, refusal); }, "");
}

void add_reduce(CLI::App& app);
void add_list(CLI::App& app);
void add_devices(CLI::App& app);
void add_verify(CLI::App& app);
void add_report(CLI::App& app);
void add_render(CLI::App& app);
void add_ladder(CLI::App& app);
void add_documentation(CLI::App& app); ///< last: it writes about all others

} // namespace detreduce::program
