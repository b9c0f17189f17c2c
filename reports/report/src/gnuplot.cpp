#include "gnuplot.hpp"

#include <cerrno>
#include <regex>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "child_process.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "plot.hpp"
#include "text.hpp"

namespace detreduce::report {
namespace {

using program::Failure;
constexpr std::size_t most_said = 300; // bytes of why it failed

// A file without a name, in memory.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view text) : descriptor_(::memfd_create("gnuplot", MFD_CLOEXEC)) {
        int error = descriptor_ < 0 ? errno : 0;
        if (error == 0) error = program::write_all(descriptor_, text);
        if (error == 0) return;
        if (descriptor_ >= 0) ::close(descriptor_);
        throw Failure(fmt::format("gnuplot cannot be started: {}", std::generic_category().message(error)));
    }
    ~MemoryFile() { ::close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    [[nodiscard]] int descriptor() const { return descriptor_; }
    /// What it begins with.
    [[nodiscard]] std::string text() const {
        std::string text(most_said, '\0');
        const ssize_t got = ::pread(descriptor_, text.data(), text.size(), 0);
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }

  private:
    int descriptor_;
};

struct Outcome {
    std::string output, complaints;
    int status = 0;
};

Outcome run(std::vector<std::string> words, std::string_view script, std::chrono::milliseconds patience) {
    const MemoryFile input(script), complaints("");
    ChildProcess gnuplot(std::move(words), {.input = input.descriptor(), .errors = complaints.descriptor()});
    std::optional<std::string> output = gnuplot.read_all(patience, [] {});
    if (!output)
        throw Failure(fmt::format("gnuplot did not end within {} s", std::chrono::duration<double>(patience).count()));
    const int status = gnuplot.wait();
    return {std::move(*output), complaints.text(), status};
}

std::string words_of(const Outcome& outcome) {
    return fmt::format("{}: {}", outcome.status < 0 ? "by a signal" : fmt::format("exit {}", outcome.status),
                       outcome.complaints.empty() ? "it said nothing" : program::one_line(outcome.complaints));
}

// In one pass, as plots may be long.
std::string with_all_replaced(std::string_view text, std::string_view what, std::string_view with) {
    std::string out;
    std::size_t from = 0;
    for (std::size_t at; (at = text.find(what, from)) != std::string_view::npos; from = at + what.size())
        out.append(text, from, at - from).append(with);
    return out.append(text, from);
}

std::string without_all_between(std::string_view text, std::string_view begin, std::string_view end) {
    std::string out;
    std::size_t from = 0;
    for (std::size_t at; (at = text.find(begin, from)) != std::string_view::npos;) {
        const std::size_t last = text.find(end, at);
        if (last == std::string_view::npos) break;
        out.append(text, from, at - from);
        from = last + end.size();
    }
    return out.append(text, from);
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
    svg = without_all_between(svg, "<filter", "</filter>");
    svg = without_all_between(svg, "<title>", "</title>"); // of its data blocks: "$d0"
    svg = hexadecimal_colours(svg);
    static const std::regex nothing("<g [^>]*>\\s*</g>\\s*"); // groups that only change the pen
    svg = std::regex_replace(svg, nothing, "");
    static const std::regex layout("[ \\t]*\\n\\s*");
    svg = std::regex_replace(svg, layout, "\n");
    svg = with_all_replaced(svg, "gpPt", id + "-pt");
    svg = with_all_replaced(svg, "gpDot", id + "-dot");
    svg = with_all_replaced(svg, "gnuplot_canvas", id + "-canvas");
    svg = with_all_replaced(svg, "gnuplot_plot_", id + "-plot-");
    return fmt::format(
        "<svg {} xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" role=\"img\" "
        "aria-label=\"{}\">\n{}",
        box, html_escaped(title), svg);
}

void require_gnuplot() {
    const FoundProgram gnuplot = find_program("gnuplot");
    const char* const way_out =
        "use `detreduce report --measure-only` here and `detreduce render` on a machine that has it";
    if (gnuplot.path.empty())
        throw Failure(fmt::format("plots need gnuplot, which {}: install it (Debian and Ubuntu: apt install "
                                  "gnuplot-nox), or {}",
                                  gnuplot.why_not, way_out));
    const Outcome version = run({gnuplot.path, "--version"}, "", gnuplot_patience);
    if (version.status == 0) return;
    throw Failure(fmt::format("plots need gnuplot, and {} --version failed ({}); repair it, or {}",
                              program::in_quotes(gnuplot.path), words_of(version), way_out));
}

std::string run_gnuplot(const std::string& id, const std::string& title, const std::string& script,
                        std::chrono::milliseconds patience) {
    const FoundProgram gnuplot = find_program("gnuplot");
    if (gnuplot.path.empty()) require_gnuplot();
    try {
        // -d: the user's own gnuplotrc would change the picture. A file, unlike a terminal or "-",
        // ends at the first error.
        const Outcome outcome = run({gnuplot.path, "-d", "/dev/stdin"}, script, patience);
        if (outcome.status == 0 && !outcome.output.empty()) return svg_for_page(id, title, outcome.output);
        throw Failure(fmt::format("gnuplot failed ({})", words_of(outcome)));
    } catch (const Failure& failure) {
        throw Failure(fmt::format("the plot '{}': {}", id, failure.what()));
    }
}

} // namespace detreduce::report
