#include "plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "axes.hpp"
#include "gnuplot.hpp"
#include "palette.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

constexpr int width = 500;

// Single quotes: gnuplot neither expands nor runs anything in them. plot_escaped() leaves no quote
// in the text.
std::string in_single_quotes(std::string_view text) {
    return "'" + plot_escaped(text) + "'";
}

// Sizes in pixels of the SVG. gnuplot's own legend guesses the width of text and then covers the
// data or the axis; this one is drawn where there is room for it, and the margins are given.
struct Frame {
    int left, plot_height;
    std::size_t entries; ///< of the legend
    [[nodiscard]] int legend_rows() const { return static_cast<int>((entries + 1) / 2); }
    [[nodiscard]] int bottom() const { return 72 + 21 * legend_rows(); }
    [[nodiscard]] int height() const { return 42 + plot_height + bottom(); }
};

std::string prologue(const std::string& title, const Frame& frame) {
    const double height = frame.height();
    return fmt::format("set terminal svg size {},{} dynamic enhanced font 'sans-serif,14' linewidth 1\n"
                       "set encoding utf8\nunset key\n"
                       "set border 3 lc rgb '{axis}'\nset tics nomirror scale 0.6,0.3 tc rgb '{axis}'\n"
                       "set grid lc rgb '{grid}' lt 1 lw 0.6\n"
                       "set title {title} noenhanced tc rgb '{ink}' font 'sans-serif,15'\n"
                       "set lmargin at screen {:.4f}\nset rmargin at screen 0.965\nset tmargin at screen {:.4f}\nset "
                       "bmargin at screen {:.4f}\n",
                       width, frame.height(), frame.left / double{width}, 1 - 42 / height, frame.bottom() / height,
                       fmt::arg("axis", axis.light), fmt::arg("grid", grid.light), fmt::arg("ink", ink.light),
                       fmt::arg("title", in_single_quotes(title)));
}

int marker(const Series& s) {
    static constexpr int markers[] = {7, 5, 9, 13, 4, 6}; // disc, square, triangle, diamond, then hollow ones
    return markers[static_cast<std::size_t>(s.style) % std::size(markers)];
}

std::string dashes(const Series& s) {
    return s.bound ? (s.style == 0 ? "(4,4)" : "(1,4)") : s.style == 0 ? "1" : s.style % 2 == 1 ? "(9,4)" : "(3,3)";
}

// Two columns below the plot, filled downwards.
std::string legend(const std::vector<Series>& series, const Frame& frame, bool lines) {
    std::string text;
    const auto rows = static_cast<std::size_t>(frame.legend_rows());
    for (std::size_t i = 0; i < series.size(); ++i) {
        const Series& s = series[i];
        const double x = i < rows ? 24 : 262, y = frame.bottom() - 72 - 21.0 * static_cast<double>(i % rows);
        const auto at = [&](double px) { return fmt::format("screen {:.4f},{:.4f}", px / width, y / frame.height()); };
        const std::string_view colour = colour_of(s.name).light;
        if (lines)
            text += fmt::format("set arrow from {} to {} nohead lc rgb '{}' lw {} dt {}\n", at(x), at(x + 36), colour,
                                s.bound ? 1.2 : 1.8, dashes(s));
        if (!s.bound)
            text += fmt::format("set label '' at {} point pt {} ps 0.6 lc rgb '{}'\n", at(x + 18), marker(s), colour);
        text += fmt::format("set label {} at {} left noenhanced tc rgb '{}' font 'sans-serif,13'\n",
                            in_single_quotes(s.label), at(x + 44), ink.light);
    }
    return text;
}

std::string label(const char* which, const std::string& text) {
    return fmt::format("set {}label {} noenhanced tc rgb '{}'\n", which, in_single_quotes(text), ink.light);
}

std::string data_block(std::size_t index, const Series& series) {
    std::string text = fmt::format("$d{} << EOD\n", index);
    for (const auto& [x, y] : series.points)
        text += fmt::format("{:.10g} {:.10g}\n", x, y);
    return text + "EOD\n";
}

std::string plot_command(const std::vector<Series>& series, bool lines) {
    std::string text;
    for (std::size_t i = 0; i < series.size(); ++i) {
        const Series& s = series[i];
        text += fmt::format("{}$d{} with {} lc rgb '{}' lw {} ", i ? ", " : "plot ", i,
                            s.bound ? "lines"
                            : lines ? "linespoints"
                                    : "points",
                            colour_of(s.name).light, s.bound ? 1.2 : 1.8);
        if (lines) text += fmt::format("dt {} ", dashes(s));
        if (!s.bound) text += fmt::format("pt {} ps {}", marker(s), lines ? 0.55 : 0.75);
    }
    return text + "\n";
}

// Can a log axis show it? The limits keep ranges and tics normal numbers that gnuplot takes too;
// the tables show the rest.
bool has_place(double value) {
    return value >= 1e-300 && value <= 1e200;
}

// Names that are not known may have got the same colour: then markers and dashes tell them apart.
void tell_apart(std::vector<Series>& series) {
    for (std::size_t i = 1; i < series.size(); ++i) {
        const auto same = [&](const Series& s) {
            return !s.bound && s.style == series[i].style && colour_of(s.name).light == colour_of(series[i].name).light;
        };
        const auto end = series.begin() + static_cast<std::ptrdiff_t>(i);
        while (!series[i].bound && std::any_of(series.begin(), end, same))
            ++series[i].style;
    }
}

// Where log axes cannot go: dropped; from 0 to the floor: on it.
std::vector<Series> drawable(const LineChart& chart) {
    std::vector<Series> kept;
    for (Series series : chart.series) {
        for (auto& [x, y] : series.points)
            if (y >= 0) y = std::max(chart.y_ceiling > 0 ? std::min(y, chart.y_ceiling) : y, chart.y_floor);
        const double highest = chart.y_linear ? 1e6 : 1e200; // gnuplot finds far larger linear ranges empty
        std::erase_if(series.points,
                      [&](const auto& p) { return !has_place(p.first) || !has_place(p.second) || p.second > highest; });
        if (!series.points.empty()) kept.push_back(std::move(series));
    }
    tell_apart(kept);
    return kept;
}

} // namespace

Plot draw(const LineChart& chart) {
    const std::vector<Series> series = drawable(chart);
    AxisRange x, y;
    for (const Series& s : series)
        for (const auto& [px, py] : s.points)
            x.add(px), y.add(py);
    if (x.empty()) return {chart.id, chart.title, ""};
    const Frame frame{88, 250, series.size()};
    std::string script = prologue(chart.title, frame) + legend(series, frame, !chart.points_only);
    script += label("x", chart.x_label) + label("y", chart.y_label) +
              (chart.x_linear    ? (x.high < 2 ? close_tics("x", x) : linear_tics("x", x))
               : chart.x_decimal ? decimal_tics("x", {x.low / 1.15, x.high * 1.15})
                                 : binary_tics(x));
    script += chart.y_linear ? linear_tics("y", y) : decimal_tics("y", rounded_outwards(y, chart.y_floor));
    for (std::size_t i = 0; i < series.size(); ++i)
        script += data_block(i, series[i]);
    return {chart.id, chart.title,
            run_gnuplot(chart.id, chart.title, script + plot_command(series, !chart.points_only))};
}

Plot draw(const DotChart& chart) {
    AxisRange x;
    x.add(1);
    x.add(10);
    std::vector<Series> series = chart.series;
    const auto count = static_cast<double>(series.size());
    for (std::size_t i = 0; i < series.size(); ++i) { // methods of one category beside each other, the first on top
        const double shift = (static_cast<double>(i) - (count - 1) / 2) * std::min(0.24, 0.8 / count);
        std::erase_if(series[i].points, [](const auto& p) { return !has_place(p.first); });
        for (auto& [px, py] : series[i].points)
            x.add(px), py += shift;
    }
    std::erase_if(series, [](const Series& s) { return s.points.empty(); });
    const int rows = static_cast<int>(chart.categories.size());
    if (rows == 0 || series.empty()) return {chart.id, chart.title, ""};
    std::string tics;
    for (int i = 0; i < rows; ++i)
        tics +=
            fmt::format("{}{} {}", i ? "," : "", in_single_quotes(chart.categories[static_cast<std::size_t>(i)]), i);
    const int row = 18 + 8 * static_cast<int>(std::clamp<std::size_t>(series.size(), 2, 8));
    const Frame frame{140, row * rows, series.size()};
    std::string script = prologue(chart.title, frame) + legend(series, frame, false);
    script += label("x", chart.x_label) + decimal_tics("x", {0.8, x.high * 1.6});
    script +=
        fmt::format("set yrange [{}:-0.5]\nset ytics ({}) scale 0 noenhanced\nset grid noytics\n", rows - 0.5, tics);
    for (int i = 1; i < rows; ++i)
        script += fmt::format("set arrow from graph 0,first {0} to graph 1,first {0} nohead lw 0.6 lc rgb '{1}'\n",
                              i - 0.5, grid.light);
    script += fmt::format("set arrow from 1,graph 0 to 1,graph 1 nohead lw 1.4 lc rgb '{}'\n", axis.light);
    for (std::size_t i = 0; i < series.size(); ++i)
        script += data_block(i, series[i]);
    return {chart.id, chart.title, run_gnuplot(chart.id, chart.title, script + plot_command(series, false))};
}

} // namespace detreduce::report
