// The page's style sheet and script: no fonts, scripts or images from elsewhere.
#pragma once

#include <string>

namespace detreduce::report {

/// Everything for index.html.
[[nodiscard]] std::string page_style();

/// Sorts tables. The same text for every page: nothing of any results goes into it.
[[nodiscard]] std::string page_script();

/// Only the colours of a plot, light and dark, for an SVG file of its own.
[[nodiscard]] std::string plot_style();

} // namespace detreduce::report
