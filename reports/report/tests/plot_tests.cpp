// Plots: what a chart's figures become.
#include <support/catch.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "axes.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "gnuplot.hpp"
#include "palette.hpp"
#include "plot.hpp"
#include "sample.hpp"
#include "undrawn.hpp"

using namespace report_test;
using namespace detreduce::report;

namespace {

std::string drawn(double y, double floor, double ceiling) {
    LineChart chart;
    chart.id = chart.title = "c";
    chart.series = {{"a", "a", 0, false, {{1.0, 0.5}, {2.0, y}}}};
    chart.y_floor = floor;
    chart.y_ceiling = ceiling;
    return draw(chart).svg;
}

/// Where a chart's dots are, from the top of the picture, by their colour: in the order of their
/// points, after that of the legend.
std::map<std::string, std::vector<double>> heights_of_dots(const std::string& svg) {
    static const std::regex dot(
        R"re(<use xlink:href='#[^']*' transform='translate\([^,]*,([^)]*)\)[^']*' color='([^']*)')re");
    std::map<std::string, std::vector<double>> heights;
    for (std::sregex_iterator it(svg.begin(), svg.end(), dot), end; it != end; ++it)
        heights[(*it)[2].str()].push_back(std::stod((*it)[1].str()));
    return heights;
}

} // namespace

TEST_CASE("gnuplot's output is made fit for a page", "[report]") {
    const std::string svg =
        svg_for_page("a-b", "Title <1>",
                     "<?xml?>\n<svg \n viewBox=\"0 0 10 20\">\n<title>x</title>\n<g id=\"gnuplot_canvas\">\n"
                     "<filter id='textbox'>\n</filter>\n<g fill=\"none\">\n</g>\n<path id='gpPt0' stroke='rgb(  0, "
                     "114, 178)'/>\n</g>\n</svg>\n");
    CHECK(svg.starts_with("<svg viewBox=\"0 0 10 20\""));
    CHECK(count(svg, "Title &lt;1&gt;") == 1);
    CHECK(count(svg, "stroke='#0072b2'") == 1);
    CHECK(count(svg, "id='a-b-pt0'") == 1);
    CHECK(count(svg, "filter") == 0);
    CHECK(count(svg, "<g fill") == 0);
    CHECK_THROWS_AS(svg_for_page("x", "x", "no picture"), detreduce::program::Failure);
}

TEST_CASE("figures that no axis can show are left out of the plots", "[report]") {
    REQUIRE(can_draw());
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double odd : {0.0, -1.0, 5e-324, 1e308, 1e200, 1e-300, inf, -inf}) {
        INFO(odd);
        Results results = sample();
        results.cost[0].n = 0;
        results.cost[1].gb_per_s = results.cost[1].ratio_to_read = odd;
        results.cost[2].gb_per_s = results.error[0].error_ulp = results.error[1].relative_error = odd;
        results.error[2].n = 0;
        results.determinism[0].distinct = 0;
        const TemporaryDirectory dir;
        render(results, OutputDirectory(dir.path()));
        CHECK(count(contents(dir.path() / "index.html"), "<svg ") >= 4);
    }
}

TEST_CASE("what is above the ceiling or below the floor is drawn there", "[report]") {
    REQUIRE(can_draw());
    CHECK(drawn(1e5, 0, 1) == drawn(1, 0, 0));
    CHECK(drawn(1e5, 0, 0) != drawn(1, 0, 0));
    CHECK(drawn(0.75, 0, 1) == drawn(0.75, 0, 0));
    CHECK(drawn(1e-9, 0.25, 1) == drawn(0.25, 0.25, 1));
    CHECK(drawn(0.375, 0.25, 1) != drawn(0.25, 0.25, 1));
    CHECK(drawn(0, 0.25, 1) == drawn(0.25, 0.25, 1));
    LineChart ratios;
    ratios.id = ratios.title = "c";
    ratios.y_linear = true;
    ratios.series = {{"a", "a", 0, false, {{1.0, 0.5}, {2.0, 0.75}}}};
    const std::string without = draw(ratios).svg;
    ratios.series[0].points.emplace_back(3.0, 1e7); // which would flatten all others
    CHECK(draw(ratios).svg == without);
}

TEST_CASE("powers of ten on an axis are multiples of their step", "[report]") {
    CHECK(decimal_tics("x", {0.9, 1.1e45}).find("set xtics ('10^{0}' 1,'10^{8}' 1e+08,'10^{16}' 1e+16,") !=
          std::string::npos);
    CHECK(decimal_tics("y", {1e-17, 10}).ends_with("'10^{-3}' 0.001,'10^{0}' 1)\n"));
    CHECK(decimal_tics("y", {3, 40}).find("set ytics ('5' 5,'10' 10,'20' 20)") != std::string::npos);
}

TEST_CASE("axes reach beyond what they show, to round numbers", "[report]") {
    const auto outwards = [](double low, double high, double floor = 0) {
        const AxisRange range = rounded_outwards({low, high}, floor);
        return std::pair(range.low, range.high);
    };
    CHECK(outwards(3, 7) == std::pair(2.0, 10.0));
    CHECK(outwards(1.2, 4) == std::pair(1.0, 5.0));
    CHECK(outwards(60, 190) == std::pair(50.0, 200.0));
    CHECK(outwards(1e-9, 3, 0.25) == std::pair(0.25, 10.0));
    CHECK(close_tics("x", {1.1, 1.2}) == "set xrange [0.950:1.250]\nset xtics 0.05\n"); // 1 is always there
    CHECK(linear_tics("y", {0.1, 30}) == "set yrange [0:30.401]\nset ytics 5\n");
    CHECK(linear_tics("y", {0.5, 0.9}) == "set yrange [0.4:1.0]\nset ytics 0.1\n");
}

TEST_CASE("a legend has two columns, filled downwards", "[report]") {
    REQUIRE(can_draw());
    LineChart lines;
    lines.id = lines.title = "c";
    for (const char* name : {"one", "two", "three", "four"})
        lines.series.push_back({name, name, 0, false, {{1.0, 1.0}, {2.0, 2.0}}});
    const std::string svg = draw(lines).svg;
    const auto y_of = [&svg](const std::string& label) { // of its text, which a "translate(x,y)" puts there
        const std::size_t at = svg.rfind("translate(", svg.find(label + "<"));
        return std::stod(svg.substr(svg.find(',', at) + 1));
    };
    CHECK(y_of("one") == y_of("three"));
    CHECK(y_of("two") == y_of("four"));
    CHECK(y_of("one") < y_of("two"));
}

// The palette gives these names the same colour.
TEST_CASE("lines of the same colour have markers of their own", "[report]") {
    REQUIRE(can_draw());
    LineChart chart;
    chart.id = chart.title = "c";
    chart.series = {{"a", "loop", 0, false, {{1.0, 1.0}, {2.0, 2.0}}},
                    {"b", "OpenMP reduction", 0, false, {{1.0, 2.0}, {2.0, 1.0}}}};
    REQUIRE(colour_of("loop").light == colour_of("OpenMP reduction").light);
    // Drawn ones have a place; the others define shapes.
    std::set<std::string> markers;
    const std::string svg = draw(chart).svg, use = "<use xlink:href='#", drawn = "' transform='translate(";
    for (std::size_t at = svg.find(use); at != std::string::npos; at = svg.find(use, at + 1)) {
        const std::size_t name = at + use.size(), end = svg.find('\'', name);
        if (svg.compare(end, drawn.size(), drawn) == 0) markers.insert(svg.substr(name, end - name));
    }
    INFO(svg);
    CHECK(markers.size() == 2);
}

TEST_CASE("dots of one category lie beside each other, about its middle, the first on top", "[report]") {
    REQUIRE(can_draw());
    const std::vector<std::string> names = {"exact", "compensated", "kahan", "tree", "atomic", "serial", "read"};
    for (const std::size_t dots : {1, 2, 3, 4, 7}) {
        INFO(dots);
        DotChart chart;
        chart.id = chart.title = "c";
        chart.categories = {"a", "b"};
        for (std::size_t i = 0; i < dots; ++i)
            chart.series.push_back({names[i], names[i], 0, false, {{2.0, 0.0}, {5.0, 1.0}}});
        const auto heights = heights_of_dots(draw(chart).svg);
        REQUIRE(heights.size() == dots);
        const auto of = [&](std::size_t i) { return heights.at(std::string(colour_of(names[i]).light)); };
        REQUIRE(of(0).size() == 3);
        const double category = of(0)[2] - of(0)[1], step = std::min(0.24, 0.8 / static_cast<double>(dots));
        REQUIRE(category > 20);
        double sum = 0;
        for (std::size_t i = 0; i < dots; ++i) {
            REQUIRE(of(i).size() == 3);
            CHECK(of(i)[2] - of(i)[1] == Approx(category).margin(0.05));
            if (i > 0) CHECK(of(i)[1] - of(i - 1)[1] == Approx(step * category).margin(0.05));
            sum += of(i)[1];
        }
        // The axis begins half a category above the first, below the title.
        CHECK(sum / static_cast<double>(dots) == Approx(42 + category / 2).margin(0.05));
    }
}
