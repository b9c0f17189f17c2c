// What the program prints: standard output that never fails silently, and text that is safe to put
// in one line.
#pragma once

#include <string>
#include <string_view>

namespace detreduce::program {

/// Writes `text` to standard output; throws Failure when it cannot (closed pipe, full disk).
void print(std::string_view text);

/// Writes out what is still buffered; throws Failure when anything written to standard output was
/// lost.
void finish_output();

/// Writes `text` to standard error. Where that is closed or full nobody can be told, so it is lost
/// in silence.
void print_error(std::string_view text) noexcept;

/// `text` on one line: control characters (C0, DEL, C1) and bytes that are not UTF-8 as \n, \t or
/// \xNN. Everything that goes to stderr passes through here.
[[nodiscard]] std::string one_line(std::string_view text);

/// 'text' for a message: in quotes and on one line.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The same of what a file holds: cut short when it is long.
[[nodiscard]] std::string excerpt(std::string_view text);

} // namespace detreduce::program
