// std::from_chars does the rounding, for hexadecimal as well: checked against MPFR, subnormals and
// ties included, where glibc's strtod was found to be wrong. What it leaves to us: signs, the 0x
// prefix, words, which way a value that is out of range went, and the formats of 8 and 16 bits.
#include "number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include <detreduce/acc/exact.hpp>
#include <detreduce/fp/convert.hpp>

#include "digits.hpp"

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

/// Is the non-zero number `text`, known to be out of range, too small rather than too large?
bool is_tiny(std::string_view text, bool hex) {
    return digits_of(text, hex).exponent < 0;
}

template <class T>
Parsed read_magnitude(std::string_view text, bool hex, T& value) {
    // from_chars would take words here too; the first character decides that this is a number.
    if (text.empty() || !(text[0] == '.' || is_digit(text[0], hex))) return Parsed::not_a_number;
    if (text.find("+-") != std::string_view::npos) return Parsed::not_a_number; // which libstdc++ 12 takes in 0x1p+-1
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

/// A number beside x > 0, nearer than any other double: above it (sign = 1), below it (−1) or x
/// itself (0), rounded to T.
template <class T>
T round_beside(double x, int sign) {
    const acc::exact::Parts p = acc::exact::parts(x);
    const std::uint64_t finer = (static_cast<std::uint64_t>(p.significand) << 10) + static_cast<std::uint64_t>(sign);
    return fp::round_significand<T>(false, finer, p.exponent - 10, false);
}

/// The number `text` rounded to T, where `nearest` is the double nearest to it. Where two numbers
/// of T meet is a double: so it is only when `nearest` is that place that the digits beyond it
/// matter.
template <class T>
T round_text(std::string_view text, bool hex, double nearest) {
    if (nearest == 0) return fp::from_bits<T>(0);
    const T low = round_beside<T>(nearest, -1), high = round_beside<T>(nearest, 1);
    if (fp::to_bits(low) == fp::to_bits(high)) return low;
    return round_beside<T>(nearest, compare_with(text, hex, nearest));
}

template <class T>
Parsed parse_magnitude(std::string_view text, bool hex, T& value) {
    if constexpr (fp::is_narrow<T>) {
        double nearest = 0;
        const Parsed parsed = read_magnitude(text, hex, nearest);
        if (parsed != Parsed::ok) return parsed;
        const T rounded = round_text<T>(text, hex, nearest);
        if (!fp::is_finite(rounded)) return Parsed::too_large;
        value = rounded;
        return Parsed::ok;
    } else {
        return read_magnitude(text, hex, value);
    }
}

/// The decimal of as many digits that follows `text`, which is as to_chars writes it: 1.25e+03.
std::string next_decimal(std::string_view text) {
    const std::size_t mark = text.find('e');
    std::string digits;
    for (const char c : text.substr(0, mark)) {
        if (c != '.') digits += c;
    }
    const std::int64_t exponent = exponent_of(text.substr(mark + 1)) + 1 - static_cast<std::int64_t>(digits.size());
    return fmt::format("{}e{}", std::stoll(digits) + 1, exponent);
}

template <class T>
bool reads_back(std::string_view text, T value) {
    T again{};
    return parse_number(text, again) == Parsed::ok && fp::to_bits(again) == fp::to_bits(value);
}

/// With as few digits as the bits of value > 0 allow. Of each number of digits the nearest decimal
/// is tried, and, if that is below, the one above: at a power of two numbers are farther apart
/// above than below, so that it may read back although it is not the nearer one.
template <class T>
std::string shortest_of_narrow(T value) {
    const double x = fp::widen(value);
    for (int digits = 1;; ++digits) {
        char buffer[32];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific, digits - 1);
        const std::string_view nearest(buffer, end.ptr);
        if (reads_back(nearest, value)) return std::string(nearest);
        if (compare_with(nearest, false, x) > 0) continue;
        const std::string above = next_decimal(nearest);
        if (reads_back(above, value)) return above;
    }
}

std::string plain(double value) {
    char buffer[64];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, result.ptr};
}

} // namespace

template <class T>
Parsed parse_number(std::string_view text, T& value) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    T magnitude{};
    if (is_word(text, "nan")) {
        magnitude = fp::from_bits<T>(fp::Format<T>::canonical_nan);
    } else if (is_word(text, "inf") || is_word(text, "infinity")) {
        if constexpr (!fp::Format<T>::has_inf) return Parsed::too_large;
        magnitude = fp::beyond<T>(false);
    } else {
        const bool hex = text.size() > 1 && text[0] == '0' && lower(text[1]) == 'x';
        const Parsed parsed = parse_magnitude(text.substr(hex ? 2 : 0), hex, magnitude);
        if (parsed != Parsed::ok) return parsed;
    }
    value = negative ? fp::negated(magnitude) : magnitude;
    return Parsed::ok;
}

template <class T>
std::string shortest_decimal(T value) {
    if (fp::is_nan(value)) return "nan"; // without the sign that some NaNs have
    if constexpr (fp::is_narrow<T>) {
        if (fp::is_finite(value) && fp::magnitude_bits(value) != 0) {
            const T magnitude = fp::is_negative(value) ? fp::negated(value) : value;
            double few_digits =
                0; // a double holds them all, so that it is printed with these digits, in the usual form
            read_magnitude(shortest_of_narrow(magnitude), false, few_digits);
            return plain(fp::is_negative(value) ? -few_digits : few_digits);
        }
    }
    char buffer[64];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, fp::widen(value));
    return {buffer, result.ptr};
}

template <class T>
std::string hexadecimal(T value) {
    if (!fp::is_finite(value)) return shortest_decimal(value);
    char buffer[64];
    // As a double, whose range makes the subnormals of other formats look like every other number.
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(static_cast<double>(fp::widen(value))),
                                      std::chars_format::hex);
    return fmt::format("{}0x{}", fp::is_negative(value) ? "-" : "", std::string_view(buffer, result.ptr));
}

template <class T>
std::string bits_text(T value) {
    return fmt::format("0x{:0{}x}", fp::to_bits(value), 2 * sizeof(T));
}

#define DETREDUCE_INSTANTIATE(name, c_name, type)                                                                      \
    template Parsed parse_number(std::string_view, type&);                                                             \
    template std::string shortest_decimal(type);                                                                       \
    template std::string hexadecimal(type);                                                                            \
    template std::string bits_text(type);
DETREDUCE_FORMATS(DETREDUCE_INSTANTIATE)
#undef DETREDUCE_INSTANTIATE

} // namespace detreduce::program
