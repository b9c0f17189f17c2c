// Reading and writing of single numbers, called directly. References that were found wrong are not
// used: glibc's strtod misrounds hexadecimal subnormals, so hexadecimal is compared with a wider
// type that holds the number exactly.
#include <support/catch.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include <fmt/format.h>

#include <detreduce/fp/bits.hpp>

#include "number_text.hpp"

using namespace detreduce::program;

namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
struct Reading {
    Parsed parsed;
    T value;
};

template <class T>
Reading<T> read(const std::string& text) {
    Reading<T> r{Parsed::not_a_number, 12345};
    r.parsed = parse_number(text, r.value);
    return r;
}

float strto(const std::string& text, float) {
    return std::strtof(text.c_str(), nullptr);
}
double strto(const std::string& text, double) {
    return std::strtod(text.c_str(), nullptr);
}

/// Does `text` read as `expected`, to the bit; as too large where that is an infinity?
template <class T>
bool reads_as(const std::string& text, T expected) {
    const auto r = read<T>(text);
    if (std::isinf(expected)) return r.parsed == Parsed::too_large;
    return r.parsed == Parsed::ok && std::bit_cast<BitsOf<T>>(r.value) == std::bit_cast<BitsOf<T>>(expected);
}

/// A number written out exactly: the middle between a random value and the one above it, where
/// rounding is hardest.
template <class T>
std::string tie_above(std::mt19937_64& random) {
    for (;;) {
        const T low = std::fabs(std::bit_cast<T>(static_cast<BitsOf<T>>(random())));
        const T high = std::nextafter(low, std::numeric_limits<T>::infinity());
        if (!std::isfinite(low) || !std::isfinite(high)) continue;
        const long double middle = (static_cast<long double>(low) + high) / 2; // one bit more: exact in a long double
        char buffer[2000];
        std::snprintf(buffer, sizeof buffer, "%.*Le", sizeof(T) == 4 ? 120 : 800, middle);
        return buffer;
    }
}

} // namespace

TEST_CASE("exponents of any length are read") {
    const std::string nines(40, '9');
    for (const char* mantissa : {"1", "0.01", "100", "0.000"}) {
        const bool none = std::string_view(mantissa) == "0.000";
        const std::string tiny = mantissa + ("e-" + nines), huge = mantissa + ("e+0" + nines);
        CHECK(reads_as(tiny, 0.0f));
        CHECK(reads_as("-" + tiny, -0.0));
        CHECK(reads_as(huge, none ? 0.0f : std::numeric_limits<float>::infinity()));
        CHECK(reads_as(huge, none ? 0.0 : std::numeric_limits<double>::infinity()));
        CHECK(reads_as("0x" + std::string(mantissa) + "p-" + nines, 0.0));
    }
    detreduce::float16 narrow{};
    CHECK(parse_number(std::string_view("0.0111e-" + nines), narrow) == Parsed::ok);
    CHECK(detreduce::fp::to_bits(narrow) == 0);
    CHECK(parse_number(std::string_view("0.01e" + nines), narrow) == Parsed::too_large);
}

TEMPLATE_TEST_CASE("shortest decimal and hexadecimal read back to the same bits", "", float, double) {
    std::mt19937_64 random(3);
    long wrong = 0;
    for (int i = 0; i < 300'000; ++i) {
        const auto bits = static_cast<BitsOf<TestType>>(random()) >>
                          (i % 3 ? 0 : random() % (8 * sizeof(TestType))); // subnormals too
        const auto value = std::bit_cast<TestType>(static_cast<BitsOf<TestType>>(bits));
        if (!std::isfinite(value)) continue;
        wrong += !reads_as(shortest_decimal(value), value);
        wrong += !reads_as(hexadecimal(value), value);
        wrong += bits_text(value) != fmt::format("0x{:0{}x}", bits, 2 * sizeof(TestType));
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("decimals at, just below and just above ties round as strtod does", "", float, double) {
    std::mt19937_64 random(4);
    long wrong = 0;
    for (int i = 0; i < 5'000; ++i) {
        const std::string tie = tie_above<TestType>(random);
        const std::size_t e = tie.find('e');
        const std::string above = tie.substr(0, e) + "1" + tie.substr(e);
        std::string below = tie;
        for (std::size_t at = e; at-- > 0;) { // borrow: the digit below the last non-zero one becomes 9s
            if (below[at] == '.') continue;
            if (below[at] != '0') {
                --below[at];
                break;
            }
            below[at] = '9';
        }
        for (const std::string& text : {tie, above, below}) {
            wrong += !reads_as(text, strto(text, TestType{}));
            wrong += !reads_as("-" + text, strto("-" + text, TestType{}));
        }
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("hexadecimal of any length of mantissa rounds once, subnormals and overflow included", "", float,
                   double) {
    std::mt19937_64 random(5);
    constexpr int lowest = sizeof(TestType) == 4 ? -160 : -1090, highest = sizeof(TestType) == 4 ? 130 : 1030;
    long wrong = 0;
    for (int i = 0; i < 300'000; ++i) {
        const std::uint64_t mantissa = random() >> (random() % 64) << (random() % 40); // trailing zeros make ties
        const int exponent = lowest - 64 + static_cast<int>(random() % (highest - lowest + 64));
        const std::string text = fmt::format("0x{:x}p{}", mantissa, exponent);
        const auto exact =
            std::ldexp(static_cast<long double>(mantissa), exponent); // 64 bits and 15 of exponent hold it
        wrong += !reads_as(text, static_cast<TestType>(exact));
        const std::string with_point =
            fmt::format("-0X{:X}.{:016x}P{:+}", mantissa >> 60, mantissa << 4, exponent + 60);
        wrong += !reads_as(with_point, static_cast<TestType>(-exact));
    }
    static_assert(std::numeric_limits<long double>::digits >= 64);
    CHECK(wrong == 0);
}

TEST_CASE("constants computed by hand") {
    // Between 1 and 1 + 2^-52: the tie goes to even, a digit far behind it decides.
    CHECK(reads_as("1.00000000000000011102230246251565404236316680908203125", 1.0));
    CHECK(reads_as("1.00000000000000011102230246251565404236316680908203126", 1.0 + 0x1p-52));
    CHECK(reads_as("1.00000000000000011102230246251565404236316680908203124", 1.0));
    CHECK(reads_as("9007199254740993", 9007199254740992.0)); // 2^53 + 1
    CHECK(reads_as("9007199254740995", 9007199254740996.0)); // 2^53 + 3
    CHECK(reads_as("16777217", 16777216.0f));
    CHECK(reads_as("16777219", 16777220.0f));
    CHECK(reads_as("2.2250738585072011e-308", 0x0.fffffffffffffp-1022)); // once hung PHP and Java
    CHECK(reads_as("2.4703282292062327e-324", 0.0));                     // just below half of the smallest subnormal
    CHECK(reads_as("2.4703282292062328e-324", 0x1p-1074));
    CHECK(reads_as("7.0064923216240853e-46", 0.0f)); // 2^-150 is 7.00649232162408535…e-46
    CHECK(reads_as("7.0064923216240854e-46", 0x1p-149f));
    CHECK(reads_as("3.4028235677973367e38", std::numeric_limits<float>::infinity())); // 2^128 − 2^103 is …7336616…
    CHECK(reads_as("3.4028235677973366e38", std::numeric_limits<float>::max()));
    CHECK(reads_as("0x1p-1075", 0.0)); // a tie between 0 and the smallest subnormal
    CHECK(reads_as("0x1.0000000000000000000001p-1075", 0x1p-1074));
    CHECK(reads_as("0x3p-1075", 0x1p-1073));
    CHECK(reads_as("0x1p-150", 0.0f));
    CHECK(reads_as("0x1.8p-149", 0x1p-148f));
    CHECK(reads_as("0x0.00000000000000000000000000000001p128", 1.0));
    CHECK(reads_as("0x100000000000000000000000000000000p-128", 1.0));
    CHECK(reads_as("0x0.0000000000000000000000000000000000000001p1180", std::ldexp(1.0, 1020)));
    CHECK(reads_as("0x1" + std::string(300, '0') + "p-1200", 1.0));
    CHECK(reads_as("0x0." + std::string(299, '0') + "1p-9", 0.0));
    CHECK(reads_as("0x1" + std::string(400, '0') + "p-500", std::numeric_limits<double>::infinity())); // 2^1100
    CHECK(reads_as("0x0." + std::string(399, '0') + "1p500", 0.0));                                    // 2^-1100
}

TEST_CASE("a value is set only when there is one") {
    for (const char* text : {"", "x", "1x", "1e400", "0x1p1024", "+", "0x", "0x-1p0", "0x nan", "0xinf", " 1", "1 ",
                             "infx", "+ 1", "0x1p+-1", "1e+-1"}) {
        INFO(text);
        const auto r = read<double>(text);
        CHECK(r.parsed != Parsed::ok);
        CHECK(r.value == 12345);
    }
}

TEST_CASE("words") {
    CHECK(shortest_decimal(std::numeric_limits<float>::quiet_NaN()) == "nan");
    CHECK(shortest_decimal(-std::numeric_limits<double>::quiet_NaN()) == "nan");
    CHECK(shortest_decimal(-std::numeric_limits<double>::infinity()) == "-inf");
    CHECK(shortest_decimal(-0.0f) == "-0");
    CHECK(hexadecimal(3.0f) == "0x1.8p+1");
    CHECK(hexadecimal(-0.0) == "-0x0p+0");
    CHECK(std::isnan(read<float>("-NaN").value));
    CHECK(read<float>("-Infinity").value == -std::numeric_limits<float>::infinity());
}
