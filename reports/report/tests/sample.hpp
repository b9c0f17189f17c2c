// A small fixed set of results, with a figure of every kind and everything that could go wrong in a
// string.
#pragma once

#include <filesystem>
#include <string>

#include "model.hpp"

namespace report_test {

/// Text that must never reach a page, a shell or gnuplot as it is.
inline constexpr const char* nasty =
    "<script>alert(1)</script> \"&' | `touch pwned` $(touch pwned) '; system 'touch pwned";

[[nodiscard]] detreduce::report::Results sample();

[[nodiscard]] std::string contents(const std::filesystem::path& file);

/// Is gnuplot here? `./dev test` installs it; a test that draws fails without it.
[[nodiscard]] bool can_draw();

struct Outcome {
    int status;
    std::string out, err;
};
/// Runs the program with these shell-quoted arguments; `before` is put in front of the command
/// (environment variables).
[[nodiscard]] Outcome run_program(const std::string& arguments, const std::string& before = "");

} // namespace report_test
