#include "help.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace detreduce::program {
namespace {

constexpr std::size_t name_width = 24, line_width = 100;

bool is_rare(const CLI::Option* option) {
    return option->get_group() == more_options;
}

} // namespace

std::string wrapped(const std::string& text, std::size_t width) {
    std::string out;
    std::size_t column = 0, at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        std::size_t length = 0; // characters, not bytes
        for (std::size_t i = at; i < end; ++i)
            length += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
        if (column > 0 && column + 1 + length > width) {
            out += '\n';
            column = 0;
        } else if (column > 0) {
            out += ' ';
            ++column;
        }
        out += text.substr(at, end - at);
        column += length;
        at = end + 1;
    }
    return out;
}

std::string with_short_lines(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        out += line.starts_with(' ') ? line : wrapped(line, line_width);
        if (end < text.size()) out += '\n';
        at = end + 1;
    }
    return out;
}

Help::Help() {
    label("REQUIRED", "");
    column_width(name_width);
}

std::string Help::explanation(const CLI::App& command) const {
    const auto at = texts_.find(&command);
    return at == texts_.end() ? "" : at->second;
}

std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
    all_ = mode == CLI::AppFormatMode::All;
    std::string text = CLI::Formatter::make_help(app, name, mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;)
        text.erase(at, 1); // where a group was that is not shown
    const bool has_more = !explanation(*app).empty() || !app->get_options(is_rare).empty();
    if (mode == CLI::AppFormatMode::All) {
        if (!explanation(*app).empty()) text += "\n" + explanation(*app) + "\n";
    } else if (mode == CLI::AppFormatMode::Normal && has_more) {
        text += fmt::format("\nEverything else: {} --help-all\n", name);
    }
    return text;
}

std::string Help::make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const {
    if (group == more_options && !all_) return "";
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
}

std::string Help::make_description(const CLI::App* app) const {
    return with_short_lines(CLI::Formatter::make_description(app));
}

std::string Help::make_footer(const CLI::App* app) const {
    return with_short_lines(CLI::Formatter::make_footer(app));
}

std::string Help::make_option_desc(const CLI::Option* option) const {
    return wrapped(option->get_description(), line_width - name_width);
}

Help& help_of(const CLI::App& app) {
    const auto help = std::dynamic_pointer_cast<Help>(app.get_formatter());
    if (!help) throw std::logic_error("a program's formatter is Help");
    return *help;
}

} // namespace detreduce::program
