#include "text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace detreduce::report {
namespace {

// dash or infinity, for what has no digits
const char* not_a_figure(const Metric& value) {
    if (!value || std::isnan(*value)) return dash;
    if (std::isinf(*value)) return *value > 0 ? "∞" : "−∞";
    return nullptr;
}

template <class F>
std::string mapped(std::string_view text, F&& replacement) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        const char* other = replacement(c);
        if (other) {
            out += other;
        } else {
            out += c;
        }
    }
    return out;
}

// A mark in the place of each control character, C0 and C1, which HTML forbids and a terminal would
// obey. Line ends and tabs stay.
std::string without_controls(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        const bool c0 = (byte < ' ' && byte != '\n' && byte != '\t' && byte != '\r') || byte == 0x7f;
        const bool c1 = byte == 0xc2 && next >= 0x80 && next < 0xa0; // U+0080 to U+009F in UTF-8
        if (c0 || c1) {
            out += "\uFFFD";
        } else {
            out += text[i];
        }
        i += c1 ? 1 : 0;
    }
    return out;
}

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// "-1.5e300", "-inf", "+3"
bool is_figure(std::string_view text) {
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) return false;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error != std::errc::invalid_argument && end == text.data() + text.size();
}

// Would a spreadsheet take it for a formula? Also what csv_escaped() made of such text, so that it
// can be undone.
bool would_be_run(std::string_view text) {
    const std::size_t begin = text.find_first_not_of('\'');
    if (begin == std::string_view::npos || std::string_view("=+-@\t\r\n").find(text[begin]) == std::string_view::npos)
        return false;
    return begin > 0 || !is_figure(text);
}

std::string grouped(const std::string& digits) { // groups of three, as a table of large numbers needs
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) out += ' ';
        out += digits[i];
    }
    return out;
}

// three significant digits without an exponent, as long as that is readable
std::string three_digits(double value) {
    const double size = std::fabs(value);
    if (size >= 999.5) return grouped(fmt::format("{:.0f}", value));
    return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

std::string superscript(int value) {
    static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    return value < 10 ? digits[value] : superscript(value / 10) + digits[value % 10];
}

} // namespace

std::string html_escaped(std::string_view text) {
    return mapped(without_controls(text), [](char c) -> const char* {
        switch (c) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&#39;";
        case '\r':
            return "\uFFFD";
        default:
            return nullptr;
        }
    });
}

std::string markdown_escaped(std::string_view text) {
    return mapped(without_controls(text), [](char c) -> const char* {
        switch (c) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '|':
            return "\\|";
        case '\\':
            return "\\\\";
        case '`':
            return "\\`";
        case '*':
            return "\\*";
        case '_':
            return "\\_";
        case '[':
            return "\\[";
        case ']':
            return "\\]";
        case '#':
            return "\\#";
        case '\n':
        case '\r':
            return " ";
        default:
            return nullptr;
        }
    });
}

std::string csv_escaped(std::string_view field) {
    const std::string text = (would_be_run(field) ? "'" : "") + without_controls(field);
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return text;
    return '"' + mapped(text, [](char c) { return c == '"' ? "\"\"" : nullptr; }) + '"';
}

std::string csv_unescaped(std::string field) {
    if (field.starts_with('\'') && would_be_run(field)) field.erase(0, 1);
    return field;
}

std::string shell_word(std::string_view text) {
    static constexpr std::string_view harmless = "_-./:,=+@%";
    if (!text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
            return is_alphanumeric(c) || harmless.find(c) != std::string_view::npos;
        }))
        return std::string(text);
    return "'" + mapped(text, [](char c) { return c == '\'' ? "'\\''" : nullptr; }) + "'";
}

std::string slug(std::string_view text) {
    return mapped(text, [](char c) { return is_alphanumeric(c) ? nullptr : "-"; });
}

std::string plot_escaped(std::string_view text) {
    static constexpr std::string_view harmless = " .,:;+-=()/^[]<>|";
    return mapped(text, [](char c) -> const char* {
        return is_alphanumeric(c) || harmless.find(c) != std::string_view::npos ? nullptr : "_";
    });
}

std::string scientific(const Metric& value) {
    if (const char* other = not_a_figure(value)) return other;
    return *value == 0 ? "0" : fmt::format("{:.2e}", *value);
}

std::string fixed(const Metric& value, int decimals) {
    if (const char* other = not_a_figure(value)) return other;
    return fmt::format("{:.{}f}", *value, decimals);
}

std::string ulps(const Metric& value) {
    if (const char* other = not_a_figure(value)) return other;
    if (*value >= 1e6) return fmt::format("{:.1e}", *value);
    if (*value == std::floor(*value)) return grouped(fmt::format("{:.0f}", *value));
    return *value < 0.01 ? fmt::format("{:.0e}", *value) : three_digits(*value);
}

std::string microseconds(const Metric& seconds) {
    if (const char* other = not_a_figure(seconds)) return other;
    return three_digits(*seconds * 1e6);
}

std::string gigabytes_per_second(const Metric& value) {
    if (const char* other = not_a_figure(value)) return other;
    return three_digits(*value);
}

std::string percent(const Metric& ratio) {
    if (const char* other = not_a_figure(ratio)) return other;
    const double value = *ratio * 100;
    if (value == 0 || value >= 0.95) return fmt::format("{:.{}f} %", value, value < 9.95 && value != 0 ? 1 : 0);
    return value >= 0.0095 ? fmt::format("{:.2f} %", value) : "< 0.01 %";
}

std::string condition_of(const Metric& value) {
    return value && *value < 999.5 ? three_digits(*value) : scientific(value);
}

std::string integer(std::int64_t value) {
    return grouped(fmt::format("{}", value));
}

std::string count_of(std::uint64_t n) {
    const std::uint64_t power = std::bit_floor(n);
    if (n < 16 || n - power > 4096 || n - power > power / 8) return grouped(fmt::format("{}", n));
    const int exponent = std::countr_zero(power);
    return n == power ? fmt::format("2{}", superscript(exponent))
                      : fmt::format("2{} + {}", superscript(exponent), n - power);
}

std::string bytes_of(std::uint64_t bytes) {
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    int unit = 0;
    for (; value >= 1024 && unit < 4; ++unit)
        value /= 1024;
    return fmt::format("{:.{}f} {}", value, value == std::floor(value) ? 0 : 1, units[unit]);
}

std::string exact_decimal(double value) {
    return std::isnan(value) ? "nan" : fmt::format("{}", value); // not -nan: the sign of a NaN says nothing
}

std::string exact_decimal(float value) {
    return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

} // namespace detreduce::report
