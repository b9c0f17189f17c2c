// Runs gnuplot and makes its SVG fit for a page.
#pragma once

#include <chrono>
#include <string>

namespace detreduce::report {

inline constexpr std::chrono::milliseconds gnuplot_patience = std::chrono::minutes(1); ///< a plot takes some ms

/// The SVG that `script` (which sets the svg terminal) draws. `id` keeps the ids of several plots
/// on one page apart. Throws program::Failure when gnuplot is not there, fails, or does not end
/// within `patience`.
[[nodiscard]] std::string run_gnuplot(const std::string& id, const std::string& title, const std::string& script,
                                      std::chrono::milliseconds patience = gnuplot_patience);

/// What run_gnuplot() does with gnuplot's output; on its own for the tests.
[[nodiscard]] std::string svg_for_page(const std::string& id, const std::string& title, std::string svg);

} // namespace detreduce::report
