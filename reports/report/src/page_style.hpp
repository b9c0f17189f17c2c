// The page's style sheet: no fonts, scripts or images from elsewhere.
#pragma once

#include <string>

namespace detreduce::report {

/// Everything for index.html.
[[nodiscard]] std::string page_style();

/// Only the colours of a plot, light and dark, for an SVG file of its own.
[[nodiscard]] std::string plot_style();

} // namespace detreduce::report
