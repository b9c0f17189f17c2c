// sigmoid and tanh: quotients of 1, e^-|x| and their sums, each in two parts; the quotient's own
// roundings are made good by its remainder.
#pragma once

#include <detreduce/math/exp.hpp>

namespace detreduce::math {
namespace detail {

/// 1 + 2^k·m, for k ≤ 0 and 2^k·m ≤ 1. Below 2^deepest it makes no difference how small that is.
template <class T>
[[nodiscard]] DETREDUCE_HD Pair<T> one_plus(T k, Pair<T> m) {
    using C = Constants<T>;
    const T scale = power_of_two(greater(k, C::deepest));
    const T sum = fp::fused(scale, m.value, T{1}); // the product is exact: Dekker's sum
    return {sum, fp::fused(scale, m.error, fp::fused(scale, m.value, 1 - sum))};
}

/// 1 − e^x, for x ≤ 0, without cancellation near 0.
template <class T>
[[nodiscard]] DETREDUCE_HD Pair<T> one_minus(const Exponential<T>& e) {
    const T scale = power_of_two(e.k);
    const Pair<T> whole = fp::fast_two_sum(T{1}, -scale);
    const T sum = fp::fused(-scale, e.near, whole.value);
    const T error = fp::fused(-scale, e.near, whole.value - sum) + whole.error;
    return fp::fast_two_sum(sum, fp::fused(-scale, e.rest, error));
}

} // namespace detail

/// 1 / (1 + e^-x), the logistic function.
///
/// domain       all x. Underflows through the subnormals to +0, where the true value, rounded, does
/// error        max_ulp<T>(Function::sigmoid)
/// special      sigmoid(±0) = 1/2, sigmoid(−inf) = +0, sigmoid(+inf) = 1, NaN → the canonical NaN
/// source       1 / (1 + e^-x) for x ≥ 0, e^x / (1 + e^x) for x < 0
template <Real T>
[[nodiscard]] DETREDUCE_HD T sigmoid(T x) {
    using C = detail::Constants<T>;
    const T size = detail::magnitude(x);
    const auto e = detail::exponential(detail::greater(-size, C::exp_lowest));
    const auto m = detail::mantissa(e);
    const bool negative = x < 0;
    const detail::Pair<T> n{detail::select(negative, m.value, T{1}), detail::select(negative, m.error, T{0})};
    const auto q = detail::quotient(n, detail::one_plus(e.k, m));
    const T low = detail::product(q.remainder, q.reciprocal);
    const T curved = detail::scaled(q.value, low, detail::select(negative, e.k, T{0}));
    // Near 0 many values are nearly halfway between two numbers: a single rounding keeps their
    // order.
    return detail::unless_nan(x, detail::select(size < C::straight, fp::fused(x, T{0.25}, T{0.5}), curved));
}

/// The hyperbolic tangent.
///
/// domain       all x. Odd: tanh(−x) = −tanh(x) to the bit
/// error        max_ulp<T>(Function::tanh)
/// special      tanh(±0) = ±0, tanh(±inf) = ±1, NaN → the canonical NaN
/// source       ±(1 − e^-2|x|) / (1 + e^-2|x|)
template <Real T>
[[nodiscard]] DETREDUCE_HD T tanh(T x) {
    using C = detail::Constants<T>;
    const T size = detail::magnitude(x);
    const auto e = detail::exponential(-2 * detail::lesser(size, C::tanh_highest));
    const auto q = detail::quotient(detail::one_minus(e), detail::one_plus(e.k, detail::mantissa(e)));
    const T result = fp::fused(q.remainder, q.reciprocal, q.value);
    const T signed_result = fp::from_bits<T>(fp::to_bits(result) | (fp::to_bits(x) & fp::sign_mask<T>));
    return detail::unless_nan(x, detail::select(size < C::tiny, x, signed_result));
}

} // namespace detreduce::math
