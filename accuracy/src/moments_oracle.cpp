#include <detreduce/accuracy/moments_oracle.hpp>

namespace detreduce::accuracy {
namespace {

static_assert(2 * ExactSum::lowest_exponent == TermOracle::lowest_exponent,
              "a square of sums has the units of squares");

constexpr unsigned unit = -TermOracle::lowest_exponent;

} // namespace

cpp_int MomentsOracle::spread() const {
    const cpp_int sum = sum_.scaled();
    return squares_.scaled() * count() - sum * sum;
}

double MomentsOracle::m2() const {
    return round_quotient(spread(), cpp_int(count()) << unit);
}

double MomentsOracle::sum_of_squares() const {
    return round_quotient(squares_.scaled(), cpp_int(1) << unit);
}

double MomentsOracle::abs_sum() const {
    return round_quotient(sum_.scaled_abs(), cpp_int(1) << static_cast<unsigned>(-ExactSum::lowest_exponent));
}

std::uint64_t MomentsOracle::variance_bits(std::uint64_t ddof, bool root, const Layout& format) const {
    const cpp_int numerator = spread();
    if (numerator == 0) return 0;
    // Many bits of the quotient, or of its root, and one that says whether anything remains.
    constexpr unsigned more = 800; // even
    cpp_int bits, rest;
    divide_qr(cpp_int(numerator << more), cpp_int(cpp_int(count()) * (count() - ddof)), bits, rest);
    bool left = rest != 0;
    int exponent = TermOracle::lowest_exponent - static_cast<int>(more);
    if (root) {
        bits = sqrt(bits, rest);
        left = left || rest != 0;
        exponent /= 2;
    }
    return rounded_bits(cpp_int(2 * bits + (left ? 1 : 0)), exponent - 1, format);
}

} // namespace detreduce::accuracy
