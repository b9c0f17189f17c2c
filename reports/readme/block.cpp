#include "block.hpp"

#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "failure.hpp"

namespace detreduce::readme {
namespace {

using program::Failure;

constexpr std::string_view begin_comment = "<!-- tables: begin ", end_comment = "<!-- tables: end";

// From `at` on, the first line that starts so; npos: none.
std::size_t find_line(const std::string& text, std::string_view start, std::size_t at) {
    if (text.compare(at, start.size(), start) == 0 && (at == 0 || text[at - 1] == '\n')) return at;
    const std::size_t found = text.find(fmt::format("\n{}", start), at);
    return found == std::string::npos ? found : found + 1;
}

std::string name_at(const std::string& text, std::size_t begin) {
    const std::size_t first = begin + begin_comment.size();
    return text.substr(first, text.find_first_of("; \n", first) - first);
}

} // namespace

std::string with_blocks(const std::string& text, const Tables& tables, const std::string& source) {
    std::string out;
    std::size_t at = 0, begin = find_line(text, begin_comment, 0);
    if (begin == std::string::npos)
        throw Failure(fmt::format("{}: no line starts with '{}NAME'", source, begin_comment));
    for (; begin != std::string::npos; begin = find_line(text, begin_comment, at)) {
        const std::string name = name_at(text, begin);
        const std::size_t body = text.find('\n', begin), end = find_line(text, end_comment, begin);
        if (end == std::string::npos || find_line(text, begin_comment, begin + 1) < end)
            throw Failure(fmt::format("{}: no '{}' ends the block '{}'", source, end_comment, name));
        if (find_line(text, end_comment, at) < begin) break;
        out += text.substr(at, body + 1 - at) + "\n" + tables(name) + "\n";
        at = end;
        out += text.substr(at, end_comment.size());
        at += end_comment.size();
    }
    if (find_line(text, end_comment, at) != std::string::npos)
        throw Failure(fmt::format("{}: '{}' without a beginning", source, end_comment));
    return out + text.substr(at);
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
