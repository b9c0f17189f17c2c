#include <detreduce/accuracy/bounds.hpp>

#include <cmath>
#include <limits>

#include <detreduce/spec/tree_order.hpp>

namespace detreduce::accuracy {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Layout layout_of(DType dtype) noexcept {
    if (!is_dtype(dtype)) return {}; // no precision: γ_d = inf, an unknown format promises nothing
    return with_dtype(dtype, []<class T>(T) { return layout<T>; });
}

double unit_roundoff(DType dtype) noexcept {
    return std::ldexp(1.0, -layout_of(dtype).precision);
}

std::uint32_t lanes_of(DType dtype) noexcept {
    return spec::lanes_of(static_cast<std::uint32_t>(size_of(dtype)));
}

std::uint32_t depth_of_tree(DType input, std::uint64_t n, bool pairwise_rows) noexcept {
    return spec::tree_depth(n, lanes_of(input), lanes_of(accumulator_of(input)), pairwise_rows);
}

bool narrower(DType a, DType b) noexcept {
    return layout_of(a).precision < layout_of(b).precision;
}

/// A double not below the number that was rounded to x ≥ 0.
double up(double x) noexcept {
    return is_finite(x) ? fp::from_bits<double>(fp::to_bits(x) + 1) : x;
}

/// a·b rounded up; exactly 0 when a factor is.
double product_up(double a, double b) noexcept {
    return a == 0 || b == 0 ? 0.0 : up(a * b);
}

bool is_twofold(Method method) noexcept {
    return method == Method::kahan || method == Method::compensated;
}

/// The bound, where roundings(k) bounds the effect of k of them: γ_k or what is likely.
template <class Roundings>
ErrorBound assembled(Method method, DType input, DType output, std::uint64_t n, const Roundings& roundings) noexcept {
    const DType accumulator = accumulator_of(input);
    const std::uint64_t d = rounding_depth(method, input, n);
    const bool keeps_more =
        method == Method::exact || is_twofold(method); // more than one number of the accumulator's format
    const bool rounds_at_end = n < 2 ? narrower(output, input) : keeps_more || narrower(output, accumulator);
    const double of_sum = rounds_at_end ? unit_roundoff(output) : 0.0;
    double of_abs =
        is_twofold(method) && d > 0 ? product_up(roundings(2 * (d - 1)), gamma_bound(accumulator, d)) : roundings(d);
    if (of_sum > 0) of_abs = product_up(of_abs, up(1 + of_sum));
    const int smallest = layout_of(output).min_exponent;
    const double absolute = smallest > layout_of(input).min_exponent ? std::ldexp(1.0, smallest - 1) : 0.0;
    return {of_sum, of_abs, absolute};
}

/// scaled_limit without what is absolute, so that it may be compared with a format's largest
/// number.
cpp_int scaled_of_abs(const ErrorBound& bound, const ExactSum& exact) {
    return scaled_value(bound.of_abs) * exact.scaled_abs();
}

cpp_int largest_scaled(const Layout& format) {
    const auto place = static_cast<unsigned>(format.max_exponent + 1 - format.precision - ExactSum::lowest_exponent);
    return ((cpp_int(1) << static_cast<unsigned>(format.precision)) - (format.has_inf ? 1 : 2)) << place;
}

constexpr unsigned scale = -ExactSum::lowest_exponent;

} // namespace

DType accumulator_of(DType input) noexcept {
    return arithmetic_of(input);
}

std::uint64_t rounding_depth(Method method, DType input, std::uint64_t n) noexcept {
    if (n < 2) return 0;
    switch (method) {
    case Method::tree:
    case Method::kahan:
        return depth_of_tree(input, n, false);
    case Method::compensated:
        return depth_of_tree(input, n, true);
    case Method::atomic:
    case Method::serial:
        return n - 1;
    case Method::exact:
        return 0;
    case Method::automatic:
        break;
    }
    return std::numeric_limits<std::uint64_t>::max(); // what is no method of its own promises nothing
}

double gamma_bound(DType accumulator, std::uint64_t depth) noexcept {
    const std::uint64_t unit = std::uint64_t{1} << layout_of(accumulator).precision; // 1/u
    if (depth == 0) return 0.0;
    if (depth >= unit) return infinite;
    // d/(1/u − d): both are integers of at most 53 bits, so only the division rounds; one step up
    // makes it a bound.
    return up(static_cast<double>(depth) / static_cast<double>(unit - depth));
}

ErrorBound error_bound(Method method, DType input, DType output, std::uint64_t n) noexcept {
    return assembled(method, input, output, n, [&](std::uint64_t k) { return gamma_bound(accumulator_of(input), k); });
}

ErrorBound error_bound(Op op, Method method, DType input, DType output, std::uint64_t n) noexcept {
    const Transform term = info(op).transform;
    const bool linear = term == Transform::element || term == Transform::magnitude ||
                        term == Transform::absolute_difference; // multiples of subnormals
    const std::uint64_t of_term = term == Transform::squared_difference                        ? 3
                                  : term == Transform::element || term == Transform::magnitude ? 0
                                                                                               : 1;
    const DType accumulator = accumulator_of(input);
    const std::uint64_t d = rounding_depth(method, input, n);
    const bool rounds_at_end = method == Method::exact || is_twofold(method) || narrower(output, accumulator);
    ErrorBound bound{rounds_at_end ? unit_roundoff(output) : 0.0, 0.0, std::ldexp(1.0, layout_of(output).min_exponent)};
    if (method == Method::exact) return bound;
    bound.of_abs = is_twofold(method) ? product_up(gamma_bound(accumulator, 2 * d + 6), gamma_bound(accumulator, d + 3))
                                      : gamma_bound(accumulator, d + of_term);
    if (bound.of_sum > 0) bound.of_abs = product_up(bound.of_abs, up(1 + bound.of_sum));
    if (!linear) bound.absolute += std::ldexp(static_cast<double>(n), layout_of(accumulator).min_exponent + 2);
    return bound;
}

MomentsBound moments_bound(Method method, DType input, DType output, std::uint64_t n) noexcept {
    const DType accumulator = accumulator_of(input);
    const std::uint64_t depth = method == Method::serial ? (n > 1 ? n - 1 : 0) : depth_of_tree(input, n, true);
    const double rounding = unit_roundoff(output), smallest = std::ldexp(1.0, layout_of(accumulator).min_exponent);
    const auto d = static_cast<double>(depth), count = static_cast<double>(n);
    const double g = gamma_bound(accumulator, 2 * depth + 7), mean = gamma_bound(accumulator, 5 * depth);
    const double lost = up(2 * d * smallest * std::sqrt(count * d)); // what underflow adds to √(Σc·e²)
    const double f = product_up(up(std::sqrt(d)), mean), once = up((1 + g) * (1 + 2 * rounding));
    MomentsBound bound{};
    bound.of_mean = narrower(output, accumulator) ? rounding : 0.0;
    bound.of_abs = product_up(mean, 1 + rounding);
    // 2·lost·√M2 ≤ u·M2 + lost²/u, and 2·lost·f·√Σx² ≤ f²·Σx² + lost².
    const double u = unit_roundoff(accumulator);
    bound.of_m2 = up(depth > 0 ? (g + u) * (1 + 2 * rounding) + 2 * rounding : 0.0);
    bound.of_mixed = product_up(2 * f, once);
    bound.of_squares = product_up(2 * product_up(f, f), once);
    bound.absolute_m2 = up(count * (d + 2) * smallest + 3 * lost * lost / u);
    bound.absolute = std::ldexp(1.0, layout_of(output).min_exponent) + d * smallest;
    return bound;
}

ErrorBound product_bound(Method method, DType input, DType output, std::uint64_t n) noexcept {
    const DType accumulator = accumulator_of(input);
    const std::uint64_t multiplications = n < 2 ? 0 : n - 1;
    const bool compensated = method == Method::compensated;
    const bool rounds_at_end = n < 2 ? narrower(output, input) : compensated || narrower(output, accumulator);
    double roundings = gamma_bound(accumulator, multiplications);
    if (compensated) {
        // k·u² / (1 − k·u²) with k = 7(n − 1), which is below 2^43 and so exact; the division and
        // the difference round.
        const double k = 7.0 * static_cast<double>(multiplications);
        const double rest = std::ldexp(1.0, 2 * layout_of(accumulator).precision) - k;
        roundings = k == 0 ? 0.0 : up(up(k / rest));
    }
    const double of_output = rounds_at_end ? unit_roundoff(output) : 0.0;
    const double relative = of_output + (of_output > 0 ? product_up(roundings, up(1 + of_output)) : roundings);
    const bool may_underflow = n >= 2 || layout_of(output).min_exponent > layout_of(input).min_exponent;
    const int smallest = layout_of(output).min_exponent,
              half = smallest > layout<double>.min_exponent ? smallest - 1 : smallest;
    const double absolute = may_underflow ? std::ldexp(1.0, half) : 0.0;
    return {of_output > 0 && roundings > 0 ? up(relative) : relative, 0.0, absolute};
}

double flush_bound(Method method, DType input, std::uint64_t n) noexcept {
    const bool flushes = method == Method::atomic && (input == DType::bf16 || input == DType::f32);
    return flushes ? std::ldexp(static_cast<double>(n), -125) : 0.0;
}

ErrorBound probabilistic_bound(Method method, DType input, DType output, std::uint64_t n, double lambda) noexcept {
    const double u = unit_roundoff(accumulator_of(input));
    return assembled(method, input, output, n, [&](std::uint64_t depth) {
        const auto k = static_cast<double>(depth);
        return std::expm1(lambda * std::sqrt(k) * u + k * u * u / (1.0 - u));
    });
}

bool cannot_overflow(const ExactSum& exact, Method method, DType input, DType output) {
    if (!exact.all_finite()) return false;
    const cpp_int abs_sum = exact.scaled_abs();
    if (abs_sum == 0) return true;
    const DType accumulator = accumulator_of(input);
    if (method != Method::exact) {
        const Layout format = layout_of(accumulator);
        const cpp_int unit = cpp_int(1) << static_cast<unsigned>(format.precision); // 1/u
        const std::uint64_t d = rounding_depth(method, input, exact.count());
        if (d >= unit || abs_sum * unit > largest_scaled(format) * (unit - d))
            return false; // 1 + γ_d = unit / (unit − d)
        if (!narrower(output, accumulator)) return true;
    }
    const ErrorBound bound = error_bound(method, input, output, exact.count());
    const cpp_int before_rounding = (abs(exact.scaled()) << scale) + scaled_of_abs(bound, exact);
    return before_rounding <= largest_scaled(layout_of(output)) << scale;
}

cpp_int scaled_limit(const ErrorBound& bound, const ExactSum& exact, double flushed) {
    const cpp_int absolute = scaled_value(bound.absolute) + scaled_value(flushed);
    return scaled_value(bound.of_sum) * abs(exact.scaled()) + scaled_of_abs(bound, exact) + (absolute << scale);
}

} // namespace detreduce::accuracy
