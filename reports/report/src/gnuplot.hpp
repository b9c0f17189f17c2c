// Runs gnuplot and makes its SVG fit for a page.
#pragma once

#include <string>

namespace detreduce::report {

/// The SVG that `script` (which sets the svg terminal) draws. `id` keeps the ids of several plots on one page apart.
[[nodiscard]] std::string run_gnuplot(const std::string& id, const std::string& title, const std::string& script);

/// What run_gnuplot() does with gnuplot's output; on its own for the tests.
[[nodiscard]] std::string svg_for_page(const std::string& id, const std::string& title, std::string svg);

} // namespace detreduce::report
