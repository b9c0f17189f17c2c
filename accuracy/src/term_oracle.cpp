#include <detreduce/accuracy/term_oracle.hpp>

#include <cmath>

namespace detreduce::accuracy {
namespace {

/// The term as IEEE arithmetic has it, for infinities, NaN and the signs of zeros.
double rounded_term(Transform term, double x, double y) {
    switch (term) {
    case Transform::element:
        return x;
    case Transform::magnitude:
        return std::fabs(x);
    case Transform::square:
        return x * x;
    case Transform::product:
        return x * y;
    case Transform::squared_difference:
        return (x - y) * (x - y);
    case Transform::absolute_difference:
        break;
    }
    return std::fabs(x - y);
}

bool has_two_inputs(Transform term) {
    return term == Transform::product || term == Transform::squared_difference ||
           term == Transform::absolute_difference;
}

} // namespace

void TermOracle::add(double x, double y) {
    if (!has_two_inputs(term_)) y = 0;
    const double rounded = rounded_term(term_, x, y);
    ++count_;
    if (!is_finite(x) || !is_finite(y)) {
        if (std::isnan(rounded)) {
            nan_ = true;
        } else {
            infinity_[rounded < 0] = true;
        }
        return;
    }
    negative_zeros_ += std::signbit(rounded) && (x == 0 || (y == 0 && has_two_inputs(term_)));
    switch (term_) {
    case Transform::element:
        return add_product(x, 1, 1);
    case Transform::magnitude:
        return add_product(x, 1, std::signbit(x) ? -1 : 1);
    case Transform::square:
        return add_product(x, x, 1);
    case Transform::product:
        return add_product(x, y, 1);
    case Transform::squared_difference:
        add_product(x, x, 1);
        add_product(x, y, -2);
        return add_product(y, y, 1);
    case Transform::absolute_difference:
        add_product(x, 1, x < y ? -1 : 1);
        return add_product(y, 1, x < y ? 1 : -1);
    }
}

void TermOracle::add_product(double x, double y, int factor) {
    const Parts a = parts(x), b = parts(y);
    const unsigned __int128 mantissa = static_cast<unsigned __int128>(a.mantissa) * b.mantissa;
    const int exponent = a.exponent + b.exponent + (factor == 2 || factor == -2);
    auto& side = side_[(a.negative != b.negative) != (factor < 0)];
    side.add(static_cast<std::uint64_t>(mantissa), exponent);
    side.add(static_cast<std::uint64_t>(mantissa >> 64), exponent + 64);
}

cpp_int TermOracle::scaled_abs() const {
    const bool never_negative = term_ != Transform::element && term_ != Transform::product;
    return never_negative ? scaled() : side_[0].scaled() + side_[1].scaled();
}

std::uint64_t TermOracle::ended_bits(Finalize finalize, const Layout& format) const {
    const cpp_int sum = scaled();
    if (sum == 0) return 0;
    if (finalize == Finalize::sum) return rounded_bits(sum, lowest_exponent, format);
    // Many bits of the quotient or the root, and one that says whether anything remains.
    constexpr unsigned more = 400; // even
    const cpp_int magnitude = cpp_int(abs(sum)) << more;
    cpp_int bits, rest;
    int exponent = lowest_exponent - static_cast<int>(more);
    if (finalize == Finalize::mean) {
        divide_qr(magnitude, cpp_int(count_), bits, rest);
    } else {
        bits = sqrt(magnitude, rest);
        exponent /= 2;
    }
    bits = 2 * bits + (rest != 0 ? 1 : 0);
    return rounded_bits(sum < 0 ? cpp_int(-bits) : bits, exponent - 1, format);
}

} // namespace detreduce::accuracy
