// std::from_chars does the rounding, for hexadecimal as well: checked against MPFR, subnormals and ties included, where
// glibc's strtod was found to be wrong. What it leaves to us: signs, the 0x prefix, words, and which way a value that is out
// of range went.
#include "number_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

namespace detreduce::program {
namespace {

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_word(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) { return lower(a) == b; });
}

bool is_digit(char c, bool hex) {
    return (c >= '0' && c <= '9') || (hex && lower(c) >= 'a' && lower(c) <= 'f');
}

/// The number after e or p, held within ±10^15: no line is long enough for its digits to make up for more.
std::int64_t exponent_of(std::string_view text) {
    constexpr std::int64_t limit = 1'000'000'000'000'000;
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    std::int64_t value = 0;
    for (const char c : text)
        value = std::min(limit, value * 10 + (c - '0'));
    return negative ? -value : value;
}

/// Is the non-zero number `text`, known to be out of range, too small rather than too large? The position of its first
/// non-zero digit and its exponent tell.
bool is_tiny(std::string_view text, bool hex) {
    const std::size_t mark = text.find_first_of(hex ? "pP" : "eE");
    const std::string_view digits = text.substr(0, mark);
    const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
    const auto first = static_cast<std::int64_t>(digits.find_first_not_of("0."));
    std::int64_t scale = (point - first) * (hex ? 4 : 1);
    if (mark != std::string_view::npos) scale += exponent_of(text.substr(mark + 1));
    return scale < 0;
}

template <class T>
Parsed parse_magnitude(std::string_view text, bool hex, T& value) noexcept {
    // from_chars would take words here too; the first character decides that this is a number.
    if (text.empty() || !(text[0] == '.' || is_digit(text[0], hex))) return Parsed::not_a_number;
    const char* const end = text.data() + text.size();
    const auto format = hex ? std::chars_format::hex : std::chars_format::general;
    T magnitude = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, magnitude, format);
    if (error == std::errc::invalid_argument || stop != end) return Parsed::not_a_number;
    if (error == std::errc::result_out_of_range) {
        if (!is_tiny(text, hex)) return Parsed::too_large;
        magnitude = 0;
    }
    value = magnitude;
    return Parsed::ok;
}

} // namespace

template <class T>
Parsed parse_number(std::string_view text, T& value) noexcept {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    T magnitude = 0;
    if (is_word(text, "nan")) {
        magnitude = std::numeric_limits<T>::quiet_NaN();
    } else if (is_word(text, "inf") || is_word(text, "infinity")) {
        magnitude = std::numeric_limits<T>::infinity();
    } else {
        const bool hex = text.size() > 1 && text[0] == '0' && lower(text[1]) == 'x';
        const Parsed parsed = parse_magnitude(text.substr(hex ? 2 : 0), hex, magnitude);
        if (parsed != Parsed::ok) return parsed;
    }
    value = negative ? -magnitude : magnitude;
    return Parsed::ok;
}

template <class T>
std::string shortest_decimal(T value) {
    if (std::isnan(value)) return "nan"; // without the sign that some NaNs have
    char buffer[64];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
    return std::string(buffer, result.ptr);
}

template <class T>
std::string hexadecimal(T value) {
    if (!std::isfinite(value)) return shortest_decimal(value);
    char buffer[64];
    // As a double, whose range makes f32's subnormals look like every other number.
    const auto result =
        std::to_chars(buffer, buffer + sizeof buffer, std::fabs(static_cast<double>(value)), std::chars_format::hex);
    return fmt::format("{}0x{}", std::signbit(value) ? "-" : "", std::string_view(buffer, result.ptr));
}

template <class T>
std::string bits_text(T value) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return fmt::format("0x{:0{}x}", std::bit_cast<Bits>(value), 2 * sizeof(T));
}

template Parsed parse_number(std::string_view, float&) noexcept;
template Parsed parse_number(std::string_view, double&) noexcept;
template std::string shortest_decimal(float);
template std::string shortest_decimal(double);
template std::string hexadecimal(float);
template std::string hexadecimal(double);
template std::string bits_text(float);
template std::string bits_text(double);

} // namespace detreduce::program
