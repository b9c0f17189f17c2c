// Numbers and strings as people and file formats want them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model.hpp"

namespace detreduce::report {

inline constexpr const char* dash = "—"; ///< stands for: not measured, or not defined

[[nodiscard]] std::string html_escaped(std::string_view text);
[[nodiscard]] std::string markdown_escaped(std::string_view text); ///< safe in a table cell and in running text
/// In quotes where it must be; what a spreadsheet would run (it begins with = + - @, a tab or CR,
/// and is no number) gets an apostrophe in front.
[[nodiscard]] std::string csv_escaped(std::string_view text);
/// Undoes the apostrophe.
[[nodiscard]] std::string csv_unescaped(std::string text);
/// For gnuplot, which can run shell commands: everything but a short list of harmless characters
/// becomes '_'.
[[nodiscard]] std::string plot_escaped(std::string_view text);

/// As a shell reads it as one word: in quotes where it would not otherwise.
[[nodiscard]] std::string shell_word(std::string_view text);

/// For ids and file names: letters, digits and '-' only, so that no results file can name a path.
[[nodiscard]] std::string slug(std::string_view text);

[[nodiscard]] std::string scientific(const Metric& value);           ///< 2 decimals: 1.25e-07
[[nodiscard]] std::string fixed(const Metric& value, int decimals);  ///< 0.98
[[nodiscard]] std::string ulps(const Metric& value);                 ///< 0, 0.5, 17, 1.2e+05
[[nodiscard]] std::string microseconds(const Metric& seconds);       ///< 3 significant digits, grouped: 5.31, 16 412
[[nodiscard]] std::string gigabytes_per_second(const Metric& value); ///< 3 significant digits at least
[[nodiscard]] std::string percent(const Metric& ratio);              ///< 34 %, 0.42 %, < 0.01 %
[[nodiscard]] std::string condition_of(const Metric& value);         ///< 1.00, 512, 1.00e+08, ∞
[[nodiscard]] std::string integer(std::int64_t value);
[[nodiscard]] std::string count_of(std::uint64_t n);     ///< 2²⁰, 2²⁰ + 37, 1 000
[[nodiscard]] std::string bytes_of(std::uint64_t bytes); ///< 256 MiB
[[nodiscard]] std::string exact_decimal(double value);   ///< shortest that reads back: for CSV
[[nodiscard]] std::string exact_decimal(float value);

} // namespace detreduce::report
