// Plots, drawn by gnuplot as SVG. A chart says what to draw; plot.cpp says how.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace detreduce::report {

/// One line or set of points. `name` picks the colour (the same in every plot), `style` dash and
/// marker.
struct Series {
    std::string label;
    std::string name;
    int style = 0;      ///< 0, 1, 2, …: variants of one name
    bool bound = false; ///< a thin dashed line without markers; of style 1 a dotted one
    std::vector<std::pair<double, double>> points;
};

/// A line chart: x on a base-2 axis, y on a base-10 axis unless it says otherwise.
struct LineChart {
    std::string id, title, x_label, y_label;
    std::vector<Series> series;
    double y_floor = 0;     ///< smaller values are drawn here, on the lower edge
    double y_ceiling = 0;   ///< larger ones here; 0: none is too large
    bool y_linear = false;  ///< ratios rather than magnitudes
    bool x_decimal = false; ///< powers of ten rather than of two
    bool x_linear = false;  ///< ratios
    bool points_only = false;
};

/// A dot chart: categories from top to bottom, counts on a base-10 axis that starts at 1.
struct DotChart {
    std::string id, title, x_label;
    std::vector<std::string> categories;
    std::vector<Series> series; ///< points are (count, index of the category)
};

struct Plot {
    std::string id, title;
    std::string svg; ///< for a page: no XML header, colours and ids as page_style.hpp wants them
};

/// Throws program::Failure, which says what to do, when gnuplot is not installed or fails.
void require_gnuplot();
[[nodiscard]] Plot draw(const LineChart& chart);
[[nodiscard]] Plot draw(const DotChart& chart);

} // namespace detreduce::report
