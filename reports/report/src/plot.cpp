#include "plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gnuplot.hpp"
#include "palette.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

constexpr int width = 500;

// Single quotes: gnuplot neither expands nor runs anything in them. plot_escaped() leaves no quote in the text.
std::string quoted(std::string_view text) {
    return "'" + plot_escaped(text) + "'";
}

struct Range {
    double low = INFINITY, high = -INFINITY;
    void add(double value) { low = std::min(low, value), high = std::max(high, value); }
    [[nodiscard]] bool empty() const { return low > high; }
};

// Sizes in pixels of the SVG. gnuplot's own legend guesses the width of text and then covers the data or the axis;
// this one is drawn where there is room for it, and the margins are given.
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
                       fmt::arg("title", quoted(title)));
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
        text += fmt::format("set label {} at {} left noenhanced tc rgb '{}' font 'sans-serif,13'\n", quoted(s.label),
                            at(x + 44), ink.light);
    }
    return text;
}

std::string label(const char* which, const std::string& text) {
    return fmt::format("set {}label {} noenhanced tc rgb '{}'\n", which, quoted(text), ink.light);
}

// Tics at every 2^step, at most 8 of them.
std::string binary_tics(Range x) {
    const int low = static_cast<int>(std::floor(std::log2(x.low))),
              high = static_cast<int>(std::ceil(std::log2(x.high)));
    const int step = std::max(1, (high - low + 6) / 7);
    std::string tics;
    for (int e = low; e <= high; e += step)
        tics += fmt::format("{}'2^{{{}}}' {}", tics.empty() ? "" : ",", e, std::exp2(e));
    return fmt::format("set logscale x 2\nset xrange [{}:{}]\nset xtics ({})\n", x.low / 1.15, x.high * 1.15, tics);
}

// Powers of ten over many decades; 1, 2, 5 over few.
std::string decimal_tics(const char* which, Range range) {
    const int low = static_cast<int>(std::floor(std::log10(range.low))),
              high = static_cast<int>(std::ceil(std::log10(range.high)));
    const bool few = high - low <= 3;
    const int step = few ? 1 : std::max(1, (high - low + 5) / 6);
    std::string tics;
    for (int e = low; e <= high; e += step)
        for (const int digit : {1, 2, 5}) {
            const double value = digit * std::pow(10.0, e);
            if ((digit != 1 && !few) || value < range.low / 1.001 || value > range.high * 1.001) continue;
            const bool plain = (few && e >= -3 && e <= 5) || (low >= 0 && high <= 5);
            const std::string text = plain        ? fmt::format("{:g}", value)
                                     : digit == 1 ? fmt::format("10^{{{}}}", e)
                                                  : ""; // more digits would leave no room for the name of the axis
            tics += fmt::format("{}'{}' {:g}", tics.empty() ? "" : ",", text, value);
        }
    return fmt::format("set logscale {0}\nset {0}range [{1:g}:{2:g}]\nset {0}tics ({3})\n", which, range.low,
                       range.high, tics);
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

// Can a log axis show it? The limits keep ranges and tics normal numbers that gnuplot takes too; the tables show the rest.
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

Range rounded_outwards(Range range, double floor) {
    if (floor > 0) return {floor, std::pow(10.0, std::ceil(std::log10(range.high * 1.2)))};
    const auto outwards = [](double value, bool up) { // to 1, 2 or 5 times a power of ten
        const double power = std::pow(10.0, std::floor(std::log10(value)));
        const double digit = value / power;
        if (up) return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
        return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
    };
    return {outwards(range.low / 1.05, false), outwards(range.high * 1.05, true)};
}

// Ratios that lie close together: tics of 0.01, 0.02 or 0.05, and always 1, where nothing more than reading is done.
std::string close_tics(const char* which, Range x) {
    x.add(1);
    const double span = x.high - x.low, step = span > 0.3 ? 0.1 : span > 0.12 ? 0.05 : span > 0.05 ? 0.02 : 0.01;
    return fmt::format("set {0}range [{1:.3f}:{2:.3f}]\nset {0}tics {3}\n", which,
                       std::floor(x.low / step - 0.2) * step, std::ceil(x.high / step + 0.2) * step, step);
}

// Ratios: from a multiple of 0.1 below the smallest to one above the largest.
std::string linear_tics(const char* which, Range y) {
    const double low = std::floor(y.low * 10 - 0.2) / 10, high = std::ceil(y.high * 10 + 0.2) / 10;
    if (high - low > 4) { // a fixed step would make more tics than gnuplot can draw
        const double step = std::pow(10.0, std::floor(std::log10(high - low))) / 2;
        return fmt::format("set {0}range [0:{1:g}]\nset {0}tics {2:g}\n", which, high * 1.01, step);
    }
    return fmt::format("set {0}range [{1:.1f}:{2:.1f}]\nset {0}tics {3}\n", which, std::max(0.0, low), high,
                       high - low > 2     ? 0.5
                       : high - low > 0.8 ? 0.2
                                          : 0.1);
}

} // namespace

Plot draw(const LineChart& chart) {
    const std::vector<Series> series = drawable(chart);
    Range x, y;
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
    Range x;
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
        tics += fmt::format("{}{} {}", i ? "," : "", quoted(chart.categories[static_cast<std::size_t>(i)]), i);
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
