#include <detreduce/accuracy/rounding.hpp>

#include <algorithm>

namespace detreduce::accuracy {
namespace {

/// |value| / 2^shift, rounded to the nearest integer, ties to even. shift ≥ 1.
cpp_int shift_right_nearest_even(const cpp_int& magnitude, unsigned shift) {
    cpp_int kept = magnitude >> shift;
    if (!bit_test(magnitude, shift - 1)) return kept;
    const bool above_half = lsb(magnitude) < shift - 1;
    if (above_half || bit_test(kept, 0)) ++kept;
    return kept;
}

} // namespace

std::uint64_t rounded_bits(const cpp_int& value, int exponent2, const Layout& format) {
    if (value == 0) return 0;
    const int fraction_bits = format.precision - 1;
    const std::uint64_t sign = value < 0 ? std::uint64_t{1} << (format.size_in_bits - 1) : 0;
    const std::uint64_t all_ones = (std::uint64_t{1} << (format.size_in_bits - 1)) - 1;
    const std::uint64_t infinity = all_ones - ((std::uint64_t{1} << fraction_bits) - 1);
    const std::uint64_t beyond = format.has_inf ? sign | infinity : all_ones;

    const cpp_int magnitude = abs(value);
    const int length = static_cast<int>(msb(magnitude)) + 1;
    const int unit =
        std::max(exponent2 + length - format.precision, format.min_exponent); // exponent of the result's last place
    if (unit > format.max_exponent - fraction_bits) return beyond;

    const int shift = unit - exponent2;
    cpp_int mantissa;
    if (shift > 0)
        mantissa = shift_right_nearest_even(magnitude, static_cast<unsigned>(shift));
    else
        mantissa = magnitude << static_cast<unsigned>(-shift);
    // The hidden bit adds one to the exponent field, and so does a mantissa that was rounded up to
    // the next power of two; a carry out of the largest binade gives the bits of infinity.
    const std::uint64_t bits = (static_cast<std::uint64_t>(unit - format.min_exponent) << fraction_bits) +
                               static_cast<std::uint64_t>(mantissa);
    return bits >= (format.has_inf ? infinity : all_ones) ? beyond : sign | bits;
}

double round_quotient(const cpp_int& numerator, const cpp_int& denominator) {
    if (numerator == 0) return 0.0;
    // 66 bits or more of the quotient, then one bit that says whether anything remains: enough for
    // a single rounding.
    const int gap = static_cast<int>(msb(denominator)) - static_cast<int>(msb(numerator));
    const int shift = std::max(gap + 66, 0);
    const cpp_int shifted = numerator << static_cast<unsigned>(shift);
    cpp_int quotient, remainder;
    divide_qr(shifted, denominator, quotient, remainder);
    quotient *= 2;
    if (remainder != 0) ++quotient;
    return round_scaled<double>(quotient, -shift - 1);
}

} // namespace detreduce::accuracy
