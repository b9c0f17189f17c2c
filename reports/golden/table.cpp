#include "golden/table.hpp"

#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>

namespace detreduce::golden {
namespace {

/// What stands before the next `end`, which is taken away as well.
std::string_view take(std::string_view& text, char end) {
    const std::size_t at = std::min(text.find(end), text.size());
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return taken;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Entry> parse_line(std::string_view line) {
    const std::string_view all = line;
    const auto method = parse_method(take(line, '\t'));
    const auto dtype = parse_dtype(take(line, '\t')), output = parse_dtype(take(line, '\t'));
    const auto family = accuracy::parse_family(take(line, '\t'));
    const auto n = number(take(line, '\t'), 10), seed = number(take(line, '\t'), 10);
    if (!line.starts_with("0x")) return std::nullopt;
    const auto bits = number(line.substr(2), 16);
    if (!method || !dtype || !output || !family || !n || !seed || !bits) return std::nullopt;
    const Entry entry{{*method, *dtype, *output, *family, *n, *seed}, *bits};
    return line_of(entry) == all ? std::optional(entry) : std::nullopt;
}

} // namespace

std::string bits_text(DType output, std::uint64_t bits) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * size_of(output)),
                  static_cast<unsigned long long>(bits));
    return text;
}

std::string line_of(const Entry& entry) {
    const Case& c = entry.of;
    std::string line;
    for (const std::string_view word : {name(c.method), name(c.dtype), name(c.output), accuracy::name(c.family)})
        line += std::string(word) + '\t';
    return line + std::to_string(c.n) + '\t' + std::to_string(c.seed) + '\t' + bits_text(c.output, entry.bits);
}

Table parse_table(std::string_view text) {
    Table table;
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = take(text, '\n');
        if (number == 1 && line.starts_with("# ")) table.source = line.substr(2);
        if (line.empty() || line[0] == '#') continue;
        const auto entry = parse_line(line);
        if (!entry)
            throw std::runtime_error("line " + std::to_string(number) + " of the table of golden results is malformed");
        table.entries.push_back(*entry);
    }
    if (table.entries.empty()) throw std::runtime_error("the table of golden results is empty");
    return table;
}

} // namespace detreduce::golden
