#include "block.hpp"

#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::readme {
namespace {

using program::Failure;

constexpr std::string_view begin_comment = "<!-- tables: begin", end_comment = "<!-- tables: end";

std::size_t find_line(const std::string& text, std::string_view start, const std::string& source) {
    const std::string line = fmt::format("\n{}", start);
    const std::size_t at = text.find(line);
    if (at == std::string::npos) throw Failure(fmt::format("{}: no line starts with '{}'", source, start));
    if (text.find(line, at + 1) != std::string::npos)
        throw Failure(fmt::format("{}: several lines start with '{}'", source, start));
    return at + 1;
}

} // namespace

std::string with_block(const std::string& text, const std::string& tables, const std::string& source) {
    const std::size_t begin = find_line(text, begin_comment, source), end = find_line(text, end_comment, source);
    if (end < begin) throw Failure(fmt::format("{}: '{}' comes before '{}'", source, end_comment, begin_comment));
    return text.substr(0, text.find('\n', begin) + 1) + "\n" + tables + "\n" + text.substr(end);
}

std::optional<Difference> first_difference(const std::string& is, const std::string& should_be) {
    std::istringstream a(is), b(should_be);
    for (std::size_t line = 1;; ++line) {
        std::string x, y;
        const bool more_x = !std::getline(a, x).fail(), more_y = !std::getline(b, y).fail();
        if (x != y || more_x != more_y) return Difference{line, x, y};
        if (!more_x) return std::nullopt;
    }
}

} // namespace detreduce::readme
