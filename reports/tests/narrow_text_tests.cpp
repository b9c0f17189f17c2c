// The 16-bit formats as text: all of their numbers, and all places where two of them meet.
#include <support/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include <fmt/format.h>

#include <detreduce/fp/bits.hpp>

#include "number_text.hpp"

using namespace detreduce;
using namespace detreduce::program;

namespace {

/// The value of a magnitude's bits, without the library's conversions. Infinity: the power of two
/// that follows the largest number.
template <class T>
double value_of(unsigned bits) {
    using F = fp::Format<T>;
    const int field = static_cast<int>(bits >> (F::precision - 1));
    const int hidden = 1 << (F::precision - 1), fraction = static_cast<int>(bits) & (hidden - 1);
    return field == 0 ? std::ldexp(fraction, F::min_exponent)
                      : std::ldexp(fraction + hidden, F::min_exponent + field - 1);
}

/// Does `text`, and its negative, read as the number with these bits; as too large where that is an
/// infinity?
template <class T>
bool reads_as(const std::string& text, unsigned bits) {
    T value{}, negative{};
    const Parsed parsed = parse_number(text, value), again = parse_number("-" + text, negative);
    if (bits == fp::Format<T>::largest + 1u) return parsed == Parsed::too_large && again == Parsed::too_large;
    return parsed == Parsed::ok && again == Parsed::ok && value.bits == bits &&
           negative.bits == (bits | fp::sign_mask<T>);
}

std::string exactly(double x) {
    char buffer[400];
    std::snprintf(buffer, sizeof buffer, "%.300e", x); // no number here has more digits
    return buffer;
}

std::string with_tail(const std::string& text, const char* mark, const std::string& tail) {
    const std::size_t at = text.find(mark);
    return text.substr(0, at) + tail + text.substr(at);
}

/// In decimal, by 10^−300 of it less.
std::string just_below(std::string text) {
    for (std::size_t at = text.find('e');
         at-- > 0;) { // borrow: the last digit that is not 0 becomes one less, those after it 9
        if (text[at] == '.') continue;
        if (text[at] != '0') {
            --text[at];
            break;
        }
        text[at] = '9';
    }
    return text;
}

/// With all 13 digits of a double, so that more can follow them.
std::string hexadecimal_exactly(double x) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.13a", x);
    return buffer;
}

/// The digits of the decimal that is nearest to x, as an integer and a power of ten.
struct Decimal {
    long long digits;
    int exponent;
};
Decimal nearest_decimal(double x, int digits) {
    const std::string text = fmt::format("{:.{}e}", x, digits - 1);
    const std::size_t e = text.find('e');
    std::string all;
    for (const char c : text.substr(0, e))
        if (c != '.') all += c;
    return {std::stoll(all), std::stoi(text.substr(e + 1)) - digits + 1};
}

int digits_in(const std::string& decimal) {
    std::string digits;
    for (const char c : decimal.substr(0, decimal.find('e')))
        if (c != '.') digits += c;
    digits.erase(0, digits.find_first_not_of('0'));
    digits.erase(digits.find_last_not_of('0') + 1);
    return static_cast<int>(digits.size());
}

} // namespace

TEMPLATE_TEST_CASE("every tie of a narrow format, and the numbers just beside it, round once", "", float16, bfloat16,
                   float8_e4m3, float8_e5m2) {
    long wrong = 0, ties = 0;
    for (unsigned bits = 0; bits < fp::Format<TestType>::largest + 1u; ++bits, ++ties) {
        const double tie = (value_of<TestType>(bits) + value_of<TestType>(bits + 1)) / 2;
        const unsigned even = bits % 2 == 0 ? bits : bits + 1;
        wrong += !reads_as<TestType>(exactly(tie), even);
        wrong += !reads_as<TestType>(with_tail(exactly(tie), "e", "1"), bits + 1);
        wrong += !reads_as<TestType>(just_below(exactly(tie)), bits);
        wrong += !reads_as<TestType>(hexadecimal_exactly(tie), even);
        wrong += !reads_as<TestType>(with_tail(hexadecimal_exactly(tie), "p", "00000000000000000000001"), bits + 1);
        wrong +=
            !reads_as<TestType>(with_tail(hexadecimal_exactly(std::nextafter(tie, 0)), "p", "ffffffffffffffff"), bits);
        // As doubles, one step beside the tie is on the right side as well.
        wrong += !reads_as<TestType>(exactly(std::nextafter(tie, 0)), bits);
        wrong += !reads_as<TestType>(exactly(std::nextafter(tie, 1e300)), bits + 1);
    }
    CHECK(ties == fp::Format<TestType>::largest + 1u);
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("every number of a narrow format: its decimal and hexadecimal read back", "", float16, bfloat16,
                   float8_e4m3, float8_e5m2) {
    long wrong = 0;
    constexpr unsigned digits = 2 * sizeof(TestType), patterns = 1u << 4 * digits;
    for (unsigned bits = 0; bits < patterns; ++bits) {
        const auto x = TestType::from_bits(static_cast<fp::Bits<TestType>>(bits));
        if (fp::is_nan(x)) {
            wrong += shortest_decimal(x) != "nan" || hexadecimal(x) != "nan";
            continue;
        }
        for (const std::string& text : {shortest_decimal(x), hexadecimal(x)}) {
            TestType again{};
            wrong += parse_number(text, again) != Parsed::ok || again.bits != bits;
        }
        wrong += bits_text(x) != fmt::format("0x{:0{}x}", bits, digits);
        wrong += (bits >= patterns / 2) != shortest_decimal(x).starts_with('-');
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("no decimal with fewer digits reads back, and none with as many that is nearer", "", float16,
                   bfloat16, float8_e4m3, float8_e5m2) {
    long wrong = 0;
    for (unsigned bits = 1; bits < fp::Format<TestType>::largest + 1u; ++bits) {
        const auto x = TestType::from_bits(static_cast<std::uint16_t>(bits));
        const std::string text = shortest_decimal(x);
        const double value = value_of<TestType>(bits), distance = std::fabs(std::strtod(text.c_str(), nullptr) - value);
        const int digits = digits_in(text);
        for (int few = std::max(1, digits - 1); few <= digits; ++few) {
            const Decimal d = nearest_decimal(value, few);
            for (int step = -2; step <= 2; ++step) {
                const std::string other = fmt::format("{}e{}", d.digits + step, d.exponent);
                TestType again{};
                const bool same = parse_number(other, again) == Parsed::ok && again.bits == bits;
                const bool nearer = std::fabs(std::strtod(other.c_str(), nullptr) - value) < distance;
                wrong += same && (digits_in(other) < digits || nearer);
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("16-bit numbers as they are printed") {
    const auto f16 = [](std::uint16_t bits) { return shortest_decimal(float16::from_bits(bits)); };
    const auto bf16 = [](std::uint16_t bits) { return shortest_decimal(bfloat16::from_bits(bits)); };
    CHECK(f16(0x3c00) == "1");
    CHECK(f16(0x2e66) == "0.1");
    CHECK(f16(0x7bff) == "65500"); // 65504: the nearest of three digits
    CHECK(f16(0x0001) == "6e-08");
    CHECK(f16(0x8001) == "-6e-08");
    CHECK(f16(0x8000) == "-0");
    CHECK(f16(0xfc00) == "-inf");
    CHECK(f16(0xfe00) == "nan");
    CHECK(f16(0x3555) == "0.3333");
    CHECK(bf16(0x3f80) == "1");
    CHECK(bf16(0x3dcd) == "0.1");
    CHECK(bf16(0x7f7f) == "3.39e+38");
    CHECK(bf16(0x0001) == "9e-41");
    CHECK(hexadecimal(float16::from_bits(0x7bff)) == "0x1.ffcp+15");
    CHECK(hexadecimal(bfloat16::from_bits(0x0001)) == "0x1p-133");
    CHECK(bits_text(float16::from_bits(0x000f)) == "0x000f");
}
