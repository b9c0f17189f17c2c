#include <detreduce/accuracy/product_oracle.hpp>

#include <algorithm>
#include <bit>

namespace detreduce::accuracy {
namespace {

/// Halves first: the factors of a long multiplication are then about equally long.
cpp_int product_of(std::span<const std::uint64_t> factors) {
    if (factors.empty()) return 1;
    if (factors.size() == 1) return factors[0];
    const std::size_t half = factors.size() / 2;
    return product_of(factors.first(half)) * product_of(factors.subspan(half));
}

/// value · 2^exponent in units of 2^unit, where unit ≤ exponent.
cpp_int in_units(const cpp_int& value, std::int64_t exponent, std::int64_t unit) {
    return cpp_int(value << static_cast<unsigned>(exponent - unit));
}

/// factor · value, where both are in units: the factor's are 2^(its exponent).
struct Scaled {
    cpp_int value;
    std::int64_t exponent;
};
Scaled times(const Scaled& x, double factor) {
    const Parts f = parts(factor);
    return {x.value * f.mantissa, x.exponent + f.exponent};
}

} // namespace

void ExactProduct::add(double x) {
    negative_ ^= fp::is_negative(x);
    if (!is_finite(x)) {
        (fp::is_nan(x) ? nan_ : infinite_) = true;
        return;
    }
    const Parts p = parts(x);
    if (p.mantissa == 0) {
        zero_ = true;
        return;
    }
    const int zeros = std::countr_zero(p.mantissa);
    exponent_ += p.exponent + zeros;
    if (p.mantissa >> zeros != 1) significands_.push_back(p.mantissa >> zeros);
}

cpp_int ExactProduct::magnitude() const {
    return product_of(significands_);
}

std::uint64_t ExactProduct::round(const Layout& format, std::uint64_t nan) const {
    if (nan_ || (infinite_ && zero_)) return nan;
    const cpp_int one = negative_ ? -1 : 1;
    if (infinite_) return rounded_bits(one, 1 << 20, format);
    if (zero_) return negative_ ? std::uint64_t{1} << (format.size_in_bits - 1) : 0;
    return rounded_bits(cpp_int(magnitude() * one), static_cast<int>(exponent_), format);
}

bool within_product_bound(const Parts& result, bool infinite, const Layout& format, const ExactProduct& exact,
                          const ErrorBound& bound) {
    if (!is_finite(bound.of_sum)) return true;
    const Scaled product{exact.magnitude(), exact.exponent()};
    const std::int64_t top = static_cast<std::int64_t>(msb(product.value)) + product.exponent;
    const Scaled slack = times(product, bound.of_sum), absolute = times({1, 0}, bound.absolute);
    if (infinite) { // is product + slack at least the largest number?
        if (top > format.max_exponent + 1) return true;
        const std::int64_t unit =
            std::min({product.exponent, slack.exponent, static_cast<std::int64_t>(format.min_exponent)});
        const cpp_int largest =
            in_units((cpp_int(1) << static_cast<unsigned>(format.precision)) - (format.has_inf ? 1 : 2),
                     format.max_exponent + 1 - format.precision, unit);
        return in_units(product.value, product.exponent, unit) + in_units(slack.value, slack.exponent, unit) >= largest;
    }
    // Far outside the format no shift is needed, nor would it be affordable.
    if (top > format.max_exponent + 64) return bound.of_sum >= 0.5;
    if (top < format.min_exponent - 64) return result.mantissa == 0;
    const std::int64_t unit = std::min({product.exponent, slack.exponent, absolute.exponent, std::int64_t{-1200}});
    const cpp_int error = abs(
        cpp_int(in_units(result.mantissa, result.exponent, unit) - in_units(product.value, product.exponent, unit)));
    return error <= in_units(slack.value, slack.exponent, unit) + in_units(absolute.value, absolute.exponent, unit);
}

} // namespace detreduce::accuracy
