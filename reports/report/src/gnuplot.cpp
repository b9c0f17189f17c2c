#include "gnuplot.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <sys/wait.h>

#include <fmt/format.h>

#include "failure.hpp"
#include "files.hpp"
#include "plot.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

using program::Failure;
constexpr int not_found = 127; // what a shell returns for a command that does not exist

struct Output {
    std::string text;
    int status = 0;
};

Output run(const std::string& command) {
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (!pipe) throw Failure("gnuplot cannot be started (no memory or no processes left)");
    Output output;
    std::array<char, 65536> buffer;
    for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
        output.text.append(buffer.data(), got);
    const int status = ::pclose(pipe);
    output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    return output;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
}

void erase_between(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) {
        const std::size_t end = text.find(to, at);
        if (end == std::string::npos) return;
        text.erase(at, end + to.size() - at);
    }
}

// "rgb(  0, 114, 178)" → "#0072b2", which the style sheet can match
std::string hexadecimal_colours(const std::string& text) {
    static const std::regex colour(R"(rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\))");
    std::string out;
    auto last = text.begin();
    for (std::sregex_iterator it(text.begin(), text.end(), colour), end; it != end; ++it) {
        const auto part = [&](int i) { return std::stoi((*it)[static_cast<std::size_t>(i)].str()); };
        out.append(last, (*it)[0].first);
        out += fmt::format("#{:02x}{:02x}{:02x}", part(1), part(2), part(3));
        last = (*it)[0].second;
    }
    return out.append(last, text.end());
}

} // namespace

std::string svg_for_page(const std::string& id, const std::string& title, std::string svg) {
    const std::size_t canvas = svg.find("<g id=\"gnuplot_canvas\">");
    const std::size_t view = svg.find("viewBox=\"");
    if (canvas == std::string::npos || view == std::string::npos)
        throw Failure("gnuplot wrote something that is not its SVG");
    const std::string box = svg.substr(view, svg.find('"', view + 9) + 1 - view);
    svg.erase(0, canvas);
    erase_between(svg, "<filter", "</filter>");
    svg = hexadecimal_colours(svg);
    static const std::regex nothing("<g [^>]*>\\s*</g>\\s*"); // groups that only change the pen
    svg = std::regex_replace(svg, nothing, "");
    static const std::regex layout("[ \\t]*\\n\\s*");
    svg = std::regex_replace(svg, layout, "\n");
    replace_all(svg, "gpPt", id + "-pt");
    replace_all(svg, "gpDot", id + "-dot");
    replace_all(svg, "gnuplot_canvas", id + "-canvas");
    replace_all(svg, "gnuplot_plot_", id + "-plot-");
    return fmt::format(
        "<svg {} xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" role=\"img\" "
        "aria-label=\"{}\">\n{}",
        box, html_escaped(title), svg);
}

void require_gnuplot() {
    if (run("gnuplot --version 2>/dev/null").status == 0) return;
    throw Failure(
        "plots need gnuplot, which was not found: install it (Debian and Ubuntu: apt install gnuplot-nox), or use "
        "`detreduce report --measure-only` here and `detreduce render` on a machine that has it");
}

std::string run_gnuplot(const std::string& id, const std::string& title, const std::string& script) {
    const TemporaryDirectory dir;
    const std::string file = (dir.path() / "plot.gp").string(), complaints = (dir.path() / "stderr").string();
    write_file(file, script);
    // -d: the user's own gnuplotrc would change the picture
    const Output output = run(fmt::format("LC_ALL=C gnuplot -d {} 2>{}", shell_word(file), shell_word(complaints)));
    if (output.status == not_found) require_gnuplot();
    if (output.status == 0 && !output.text.empty()) return svg_for_page(id, title, output.text);
    std::ifstream in(complaints);
    std::string why{std::istreambuf_iterator<char>(in), {}};
    replace_all(why, "\n", " ");
    throw Failure(fmt::format("gnuplot failed on the plot '{}' (exit {}): {}", id, output.status, why.substr(0, 300)));
}

} // namespace detreduce::report
