#include "digits.hpp"

#include <algorithm>
#include <charconv>

namespace detreduce::program {
namespace {

constexpr int most_digits = 100; // of x: see compare_with()

/// The four binary digits of a hexadecimal one.
std::string_view binary(char c) {
    constexpr std::string_view all = "0000000100100011010001010110011110001001101010111100110111101111";
    const int value = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    return all.substr(static_cast<std::size_t>(4 * value), 4);
}

/// Every decimal digit of x, or every hexadecimal one.
std::string text_of(double x, bool hex) {
    char buffer[most_digits + 20];
    const auto result =
        hex ? std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::hex)
            : std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific, most_digits);
    return {buffer, result.ptr};
}

} // namespace

std::int64_t exponent_of(std::string_view text) {
    constexpr std::int64_t limit = 1'000'000'000'000'000;
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    std::int64_t value = 0;
    for (const char c : text)
        value = std::min(limit, value * 10 + (c - '0'));
    return negative ? -value : value;
}

Digits digits_of(std::string_view text, bool hex) {
    const std::size_t mark = text.find_first_of(hex ? "pP" : "eE");
    const std::string_view mantissa = text.substr(0, mark);
    Digits d;
    for (const char c : mantissa) {
        if (c == '.') continue;
        hex ? d.digits += binary(c) : d.digits += c;
    }
    const std::size_t first = d.digits.find_first_not_of('0');
    if (first == std::string::npos) return {};
    const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
    d.exponent = point * (hex ? 4 : 1) - static_cast<std::int64_t>(first);
    if (mark != std::string_view::npos) d.exponent += exponent_of(text.substr(mark + 1));
    d.digits.erase(d.digits.find_last_not_of('0') + 1);
    d.digits.erase(0, first);
    return d;
}

int compare_with(std::string_view text, bool hex, double x) {
    const Digits a = digits_of(text, hex), b = digits_of(text_of(x, hex), hex);
    if (a.digits.empty()) return -1;
    if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
    const int order = a.digits.compare(b.digits);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

} // namespace detreduce::program
