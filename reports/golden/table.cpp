#include "golden/table.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>

namespace detreduce::golden {
namespace {

constexpr std::string_view integer_output = "u64";

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

/// `0x3c00`.
std::optional<std::uint64_t> bits_in(std::string_view text) {
    return text.starts_with("0x") ? number(text.substr(2), 16) : std::nullopt;
}

/// As option_text() has it.
bool parse_option(std::string_view text, Case& c) {
    if (text == "nan=ignore") c.nan = NanPolicy::ignore;
    c.each = text.starts_with("each");
    const std::size_t ddof = text.find("ddof=");
    if (ddof != text.npos) c.ddof = number(text.substr(ddof + 5), 10).value_or(0);
    return option_text(c) == text;
}

/// method dtype output family n seed bits
std::optional<Entry> parse_sum(std::string_view line) {
    const auto method = parse_method(take(line, '\t'));
    const auto dtype = parse_dtype(take(line, '\t')), output = parse_dtype(take(line, '\t'));
    const auto family = accuracy::parse_family(take(line, '\t'));
    const auto n = number(take(line, '\t'), 10), seed = number(take(line, '\t'), 10);
    const auto bits = bits_in(line);
    if (!method || !dtype || !output || !family || !n || !seed || !bits) return std::nullopt;
    return Entry{{*method, *dtype, *output, *family, *n, *seed}, *bits};
}

/// method op shape dtype output family n groups stride option seed results bits
std::optional<Entry> parse_op_line(std::string_view line) {
    const auto method = parse_method(take(line, '\t'));
    const auto op = parse_op(take(line, '\t'));
    const auto shape = parse_shape(take(line, '\t'));
    const auto dtype = parse_dtype(take(line, '\t'));
    const std::string_view output_word = take(line, '\t');
    const auto output = output_word == integer_output ? dtype : parse_dtype(output_word);
    const auto family = accuracy::parse_family(take(line, '\t'));
    const auto n = number(take(line, '\t'), 10), groups = number(take(line, '\t'), 10),
               stride = number(take(line, '\t'), 10);
    const std::string_view option = take(line, '\t');
    const auto seed = number(take(line, '\t'), 10), results = number(take(line, '\t'), 10);
    const auto bits = bits_in(line);
    if (!method || !op || !shape || !dtype || !output || !family || !n || !groups || !stride || !seed || !bits)
        return std::nullopt;
    Case c{*method, *dtype, *output, *family, *n, *seed, *op, *shape, *groups, *stride};
    if (!parse_option(option, c) || results != results_of(c)) return std::nullopt;
    return Entry{c, *bits};
}

std::optional<Entry> parse_line(std::string_view line) {
    const bool of_sum = std::count(line.begin(), line.end(), '\t') < 7;
    const auto entry = of_sum ? parse_sum(line) : parse_op_line(line);
    return entry && line_of(*entry) == line ? entry : std::nullopt; // one way to write each
}

/// What stands before the bits is compared with what a call says of itself, not read.
std::optional<CallResult> parse_call(std::string_view line) {
    const std::size_t end = line.rfind('\t');
    const auto bits = bits_in(line.substr(end + 1));
    if (!bits) return std::nullopt;
    CallResult result{std::string(line.substr(0, end)), *bits};
    return line_of(result) == line ? std::optional(std::move(result)) : std::nullopt;
}

void add_source(Table& table, std::string_view source) {
    std::string_view known = table.source;
    while (!known.empty()) {
        const std::size_t end = std::min(known.find("; "), known.size());
        if (known.substr(0, end) == source) return;
        known.remove_prefix(std::min(end + 2, known.size()));
    }
    if (!table.source.empty()) table.source += "; ";
    table.source += source;
}

} // namespace

std::string first_lines(int version, std::string_view device, std::string_view columns) {
    return std::string(source_prefix) + std::to_string(version) + ", from " + std::string(device) + '\n' +
           std::string(columns) + '\n';
}

std::string hexadecimal(std::uint64_t bits, std::size_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * bytes), static_cast<unsigned long long>(bits));
    return text;
}

std::string joined(std::initializer_list<std::string_view> words) {
    std::string line;
    for (const std::string_view word : words) {
        if (!line.empty()) line += '\t';
        line += word;
    }
    return line;
}

std::string_view columns_of(const Case& c) {
    if (is_flat_sum(c)) return "# method\tdtype\toutput\tfamily\tn\tseed\tbits";
    return "# method\top\tshape\tdtype\toutput\tfamily\tn\tgroups\tstride\toption\tseed\tresults\tbits";
}

std::size_t result_bytes_of(const Case& c) {
    return info(c.op).gives_integer ? sizeof(std::uint64_t) : size_of(c.output);
}

std::size_t bits_bytes_of(const Case& c) {
    return results_of(c) == 1 ? result_bytes_of(c) : sizeof(std::uint64_t);
}

std::string bits_text(const Case& c, std::uint64_t bits) {
    return hexadecimal(bits, bits_bytes_of(c));
}

std::string_view output_text(const Case& c) {
    return info(c.op).gives_integer ? integer_output : name(c.output);
}

std::string option_text(const Case& c) {
    if (c.nan == NanPolicy::ignore) return "nan=ignore";
    const std::string each = c.each ? "each" : "";
    if (c.ddof == 0) return c.each ? each : "-";
    return each + (c.each ? ",ddof=" : "ddof=") + std::to_string(c.ddof);
}

std::string line_of(const Entry& entry) {
    const Case& c = entry.of;
    const std::string n = std::to_string(c.n), seed = std::to_string(c.seed), bits = bits_text(c, entry.bits);
    if (is_flat_sum(c))
        return joined({name(c.method), name(c.dtype), name(c.output), accuracy::name(c.family), n, seed, bits});
    return joined({name(c.method), name(c.op), name(c.shape), name(c.dtype), output_text(c), accuracy::name(c.family),
                   n, std::to_string(c.groups), std::to_string(c.stride), option_text(c), seed,
                   std::to_string(results_of(c)), bits});
}

Table parse_table(std::string_view text) {
    Table table;
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = take(text, '\n');
        if (line.starts_with(source_prefix)) add_source(table, line.substr(2));
        if (line.empty() || line[0] == '#') continue;
        const auto call = is_call(line) ? parse_call(line) : std::nullopt;
        const auto entry = is_call(line) ? std::nullopt : parse_line(line);
        if (call) table.calls.push_back(*call);
        if (entry) table.entries.push_back(*entry);
        if (!call && !entry)
            throw std::runtime_error("line " + std::to_string(number) + " of the table of golden results is malformed");
    }
    if (table.entries.empty() && table.calls.empty()) throw std::runtime_error("the table of golden results is empty");
    return table;
}

} // namespace detreduce::golden
