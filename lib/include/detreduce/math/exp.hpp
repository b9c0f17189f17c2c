// exp and expm1.
//
// x = k·ln 2 + r with k whole and |r| ≤ ln 2 / 2 (Cody & Waite, Software Manual for the Elementary
// Functions, 1980; Muller, Elementary Functions, 3rd ed., ch. 11), the rounding error of r kept.
// Then e^r = 1 + r + r²·q(r): 1 + r is kept in two parts, and only the small rest is rounded
// freely. The coefficients of q minimise |r·(q(r) − (e^r − 1 − r)/r²)|, so the error relative to
// e^r − 1, over |r| ≤ 1.0002·ln 2 / 2: Lawson's iteration in 200 bits, the coefficients rounded one
// after the other and those left refitted; the first is held at 1/2. That error is 2^-31.1 (f32),
// 2^-61.6 (f64).
#pragma once

#include <detreduce/math/parts.hpp>

namespace detreduce::math {
namespace detail {

/// x = k·ln 2 + r + error.
template <class T>
struct Reduced {
    T k, r, error;
};

/// For exp_lowest ≤ x ≤ exp_highest; of NaN anything.
template <class T>
[[nodiscard]] DETREDUCE_HD Reduced<T> reduced(T x) {
    using C = Constants<T>;
    const T k = fp::fused(x, C::log2_e, C::shifter) - C::shifter;
    const T above = fp::fused(k, -C::ln2_high, x); // exact
    const T r = fp::fused(k, -C::ln2_low, above);
    return {k, r, fp::fused(k, -C::ln2_low, above - r)};
}

/// (e^r − 1 − r − r²/2) / r³.
[[nodiscard]] DETREDUCE_HD float exp_polynomial(float r) {
    return polynomial(r, 0x1.555556p-3f, 0x1.5554f6p-5f, 0x1.111002p-7f, 0x1.6d3c8cp-10f, 0x1.a2472cp-13f);
}
[[nodiscard]] DETREDUCE_HD double exp_polynomial(double r) {
    return polynomial(r, 0x1.5555555555559p-3, 0x1.5555555555556p-5, 0x1.111111110f646p-7, 0x1.6c16c16c15e6bp-10,
                      0x1.a01a01b00bf03p-13, 0x1.a01a01a8f824fp-16, 0x1.71ddf7f737f58p-19, 0x1.27e4d59989ac9p-22,
                      0x1.af5f5893157aap-26, 0x1.1f7d774b7781bp-29);
}

/// e^x = 2^k·(1 + near + rest).
template <class T>
struct Exponential {
    T k, near, rest;
};

/// near = r + r²/2, and rest, which is below near/40, has what this lost: for those functions that
/// cannot hide the error of r² behind 1.
template <class T>
[[nodiscard]] DETREDUCE_HD Exponential<T> exponential(T x) {
    const Reduced<T> part = reduced(x);
    const Pair<T> square = fp::two_prod(part.r, part.r);
    const T near = fp::fused(T{0.5}, square.value, part.r);
    const T lost = fp::fused(T{0.5}, square.error, fp::fused(T{0.5}, square.value, part.r - near));
    const T error = fp::fused(part.error, near, part.error) + lost;
    return {part.k, near, fp::fused(part.r * square.value, exp_polynomial(part.r), error)};
}

/// 1 + near + rest as a pair.
template <class T>
[[nodiscard]] DETREDUCE_HD Pair<T> mantissa(const Exponential<T>& e) {
    const Pair<T> sum = fp::fast_two_sum(T{1}, e.near);
    return fp::fast_two_sum(sum.value, sum.error + e.rest);
}

} // namespace detail

/// e^x.
///
/// domain       all x. Overflows to +inf, and underflows through the subnormals to +0, where the
///              true value, rounded, does
/// error        max_ulp<T>(Function::exp)
/// special      exp(±0) = 1, exp(−inf) = +0, exp(+inf) = +inf, NaN → the canonical NaN
template <Real T>
[[nodiscard]] DETREDUCE_HD T exp(T x) {
    using C = detail::Constants<T>;
    const auto part = detail::reduced(detail::lesser(detail::greater(x, C::exp_lowest), C::exp_highest));
    const T q = fp::fused(part.r, detail::exp_polynomial(part.r), T{0.5});
    const auto sum = fp::fast_two_sum(T{1}, part.r);
    const T low = sum.error + fp::fused(part.r * part.r, q, part.error);
    return detail::unless_nan(x, detail::scaled(sum.value, low, part.k));
}

/// e^x − 1, without cancellation near 0.
///
/// domain       all x. Overflows to +inf where the true value, rounded, does
/// error        max_ulp<T>(Function::expm1)
/// special      expm1(±0) = ±0, expm1(−inf) = −1, expm1(+inf) = +inf, NaN → the canonical NaN
/// source       2^k − 1 + 2^k·(e^r − 1), halved so that 2^k does not overflow before the result
///              does
template <Real T>
[[nodiscard]] DETREDUCE_HD T expm1(T x) {
    using C = detail::Constants<T>;
    const auto e = detail::exponential(detail::lesser(detail::greater(x, C::expm1_lowest), C::exp_highest));
    const T half = detail::power_of_two(e.k - 1);
    const auto whole = fp::two_sum(half, T{-0.5});
    // half·near is exact, and less than |whole|, or whole is 0: this is Dekker's sum.
    const T sum = fp::fused(half, e.near, whole.value);
    const T error = fp::fused(half, e.near, whole.value - sum) + whole.error;
    const T result = sum + fp::fused(half, e.rest, error);
    return detail::unless_nan(x, detail::select(detail::magnitude(x) < C::tiny, x, result + result));
}

} // namespace detreduce::math
