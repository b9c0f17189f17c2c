// Exact sums of up to three floats, millions of them, against arithmetic that shares nothing with
// the library or the oracle: integers of 320 bits, and the processor's own conversion from integer
// to float.
#include <cmath>

#include <detreduce/detreduce.hpp>

#include <support/bits.hpp>
#include <support/catch.hpp>

namespace detreduce::proptests {
namespace {

/// Two's complement, in units of 2^−149: three floats are below 2^279.
struct Wide {
    std::uint64_t w[5] = {};

    void add(const Wide& b) {
        unsigned char carry = 0;
        for (int i = 0; i < 5; ++i) {
            const unsigned __int128 sum = static_cast<unsigned __int128>(w[i]) + b.w[i] + carry;
            w[i] = static_cast<std::uint64_t>(sum);
            carry = static_cast<unsigned char>(sum >> 64);
        }
    }
    void negate() {
        for (std::uint64_t& word : w)
            word = ~word;
        add({{1}});
    }
    [[nodiscard]] bool negative() const { return w[4] >> 63 != 0; }
};

Wide wide(float x) {
    int exponent = 0; // x = significand · 2^(exponent − 24)
    const auto significand = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 24));
    int place = exponent - 24 + 149;
    Wide sum;
    if (place < 0) { // a subnormal: its last bits are zeros
        sum.w[0] = significand >> -place;
    } else {
        sum.w[place / 64] = significand << (place % 64);
        if (place % 64 > 40) sum.w[place / 64 + 1] = significand >> (64 - place % 64);
    }
    if (x < 0) sum.negate();
    return sum;
}

/// The 63 bits from the highest one on, with a last bit that is 1 if anything follows, and the
/// processor's rounding of those.
float rounded(Wide sum) {
    const bool negative = sum.negative();
    if (negative) sum.negate();
    int top = 4;
    while (top > 0 && sum.w[top] == 0)
        --top;
    std::uint64_t high = sum.w[top];
    bool rest = false;
    int place = 64 * top;
    if (top > 0) {
        const int lead = __builtin_clzll(high);
        if (lead > 0) high = high << lead | sum.w[top - 1] >> (64 - lead);
        place -= lead;
        rest = lead > 0 ? (sum.w[top - 1] << lead) != 0 : sum.w[top - 1] != 0;
        for (int i = 0; i < top - 1; ++i)
            rest = rest || sum.w[i] != 0;
        rest = rest || (high & 1) != 0;
        high = high >> 1 | (rest ? 1 : 0);
        ++place;
    }
    // Sums below 2^64 units are exact in the unit of subnormals, so scaling never rounds a second
    // time; above, floats are normal.
    const float value = std::ldexp(static_cast<float>(high), place - 149);
    return negative ? -value : value;
}

float expected_sum(std::span<const float> x) {
    bool nan = false, up = false, down = false, minus = !x.empty();
    Wide sum;
    for (const float v : x) {
        nan = nan || std::isnan(v);
        up = up || v == infinity<float>;
        down = down || v == -infinity<float>;
        minus = minus && v == 0 && std::signbit(v);
        if (std::isfinite(v)) sum.add(wide(v));
    }
    if (nan || (up && down)) return quiet_nan<float>;
    if (up || down) return up ? infinity<float> : -infinity<float>;
    return minus ? -0.0f : rounded(sum);
}

/// Random bits, with exponents near those of the one before two times out of three, and now and
/// then its opposite.
float next(float before, std::uint64_t word) {
    const auto bits = static_cast<std::uint32_t>(word);
    if (word >> 32 & 1) return fp::from_bits<float>(bits);
    if ((word >> 33) % 16 == 0) return -before;
    const int exponent = std::clamp(fields(before).exponent + static_cast<int>((word >> 40) % 53) - 26, -127, 128);
    const std::uint32_t fraction = (word >> 37) % 4 == 0 ? bits & 0xff000000u : bits;
    return from_fields<float>({(word >> 36 & 1) != 0, exponent, fraction});
}

} // namespace

TEST_CASE("exact: millions of sums of up to three floats of any bits", "[exact]") {
    constexpr std::uint64_t sums = 2'500'000;
    std::uint64_t finite = 0;
    for (std::uint64_t i = 0; i < sums; ++i) {
        float x[3];
        x[0] = fp::from_bits<float>(static_cast<std::uint32_t>(accuracy::hash(1, i)));
        x[1] = next(x[0], accuracy::hash(2, i));
        x[2] = next(x[i % 2], accuracy::hash(3, i));
        const std::span<const float> some(x, 1 + accuracy::hash(4, i) % 8 % 3);
        const float result = sum(some, Method::exact, {.threads = 1}), expected = expected_sum(some);
        if (fp::to_bits(result) != fp::to_bits(expected)) {
            FAIL(hexadecimal(x[0]) << ' ' << hexadecimal(x[1]) << ' ' << hexadecimal(x[2]) << " of which "
                                   << some.size() << ": " << hexadecimal(result) << ", not " << hexadecimal(expected));
        }
        finite += std::isfinite(expected);
    }
    REQUIRE(finite > sums / 2);
}

} // namespace detreduce::proptests
