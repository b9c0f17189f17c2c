// log, log1p and softplus.
//
// x = 2^k·(1 + f) with √½ ≤ 1 + f < √2, and with s = f / (2 + f): log(1 + f) = 2·artanh(s) = 2s +
// s³·P(s²). As 2s = f − s·f, and s·f = f²/2 − s·f²/2, this is f − f²/2 + s·(f²/2 + s²·P(s²)), where
// the roundings of s do no harm (the form is that of FDLIBM's log; the series is in Muller,
// Elementary Functions, 3rd ed., ch. 11; k·ln 2 is in two parts as in Cody & Waite). f − f²/2 is
// kept in two parts, and k·ln 2 is added to it without error. The coefficients of P minimise the
// error relative to 2s over 0 ≤ s ≤ 3 − 2√2, made as those of exp.hpp are: 2^-30.2 (f32), 2^-59.4
// (f64).
#pragma once

#include <detreduce/math/exp.hpp>

namespace detreduce::math {
namespace detail {

[[nodiscard]] DETREDUCE_HD float log_polynomial(float z) {
    return polynomial(z, 0x1.55557ap-1f, 0x1.995ed8p-2f, 0x1.31e036p-2f);
}
[[nodiscard]] DETREDUCE_HD double log_polynomial(double z) {
    return polynomial(z, 0x1.5555555555592p-1, 0x1.999999997ff3ap-2, 0x1.24924941de474p-2, 0x1.c71c521778a45p-3,
                      0x1.74663c2fdd8bep-3, 0x1.39a1fd871d6d9p-3, 0x1.2f02ddff7c71dp-3);
}

/// 1 / d, nearly, for 1 + √½ ≤ d ≤ 1 + √2, as in quotient(): the guess is off by 0.0013 of it
/// at most.
template <class T>
[[nodiscard]] DETREDUCE_HD T reciprocal_near_2(T d) {
    const T guess = polynomial(d, T(0x1.7a4e36p+0f), T(-0x1.71e41cp-1f), T(0x1.deab4ep-4f));
    const T closer = closer_reciprocal(d, guess);
    return fp::is_f64<T> ? closer_reciprocal(d, closer) : closer;
}

/// log(1 + f + f_error) + k·ln 2, for √½ ≤ 1 + f ≤ √2. The error is less than a fifth of the value.
template <class T>
[[nodiscard]] DETREDUCE_HD Pair<T> logarithm(T f, T f_error, T k) {
    using C = Constants<T>;
    const T s = product(f, reciprocal_near_2(2 + f)), z = s * s;
    const Pair<T> square = fp::two_prod(f, f);
    const T half = T{0.5} * square.value;
    const T near = fp::fused(T{-0.5}, square.value, f);
    const T lost = fp::fused(T{-0.5}, square.error, fp::fused(T{-0.5}, square.value, f - near));
    const T slope = fp::fused(-2 * s, 1 - s, T{1}); // 1 / (1 + f) to within 2s³, which is enough for an error
    const T small = fp::fused(f_error, slope, fp::fused(s, fp::fused(z, log_polynomial(z), half), lost));
    const T sum = fp::fused(k, C::ln2_high, near); // k·ln2_high is exact and the larger one, or 0: Dekker's sum
    const T error = near + fp::fused(k, C::ln2_high, -sum);
    return {sum, error + fp::fused(k, C::ln2_low, small)};
}

/// x = m·2^k, √½ ≤ m < √2, for positive normal x. field = k + bias.
template <class T>
struct Split {
    T m, k;
    fp::Bits<T> field;
};
template <class T>
[[nodiscard]] DETREDUCE_HD Split<T> split(T x) {
    constexpr T unit = fp::from_bits<T>((bias<T> + fraction_bits<T>) << fraction_bits<T>); // its last bit is 1
    constexpr fp::Bits<T> one = bias<T> << fraction_bits<T>, root = fp::to_bits(Constants<T>::sqrt_half);
    const fp::Bits<T> moved = fp::to_bits(x) + (one - root), field = moved >> fraction_bits<T>;
    const T m = fp::from_bits<T>((moved & ((fp::Bits<T>{1} << fraction_bits<T>)-1)) + root);
    return {m, fp::from_bits<T>(field | fp::to_bits(unit)) - (unit + static_cast<T>(bias<T>)), field};
}

/// y, but what a logarithm of 0, of less, of infinity and of NaN is.
template <class T>
[[nodiscard]] DETREDUCE_HD T logarithm_or_special(T x, T y) {
    const T finite = select(x == 0, -infinity<T>, y);
    return select(x >= 0, select(x == infinity<T>, x, finite), nan<T>);
}

} // namespace detail

/// The natural logarithm.
///
/// domain       x ≥ 0, subnormals too
/// error        max_ulp<T>(Function::log)
/// special      log(±0) = −inf, log(1) = +0, log(+inf) = +inf; NaN and x < 0 → the canonical NaN
template <Real T>
[[nodiscard]] DETREDUCE_HD T log(T x) {
    constexpr int up = fp::Format<T>::precision;
    constexpr T lift = static_cast<T>(std::uint64_t{1} << up);
    const bool subnormal = x < fp::from_bits<T>(fp::Bits<T>{1} << detail::fraction_bits<T>);
    const auto part = detail::split(detail::select(subnormal, x * lift, x));
    const auto sum = detail::logarithm(part.m - 1, T{0}, part.k - detail::select(subnormal, T{up}, T{0}));
    return detail::logarithm_or_special(x, sum.value + sum.error);
}

/// log(1 + x), without cancellation near 0.
///
/// domain       x ≥ −1
/// error        max_ulp<T>(Function::log1p)
/// special      log1p(±0) = ±0, log1p(−1) = −inf, log1p(+inf) = +inf; NaN and x < −1 → the
///              canonical NaN
/// source       1 + x rounded, and its error, scaled with it
template <Real T>
[[nodiscard]] DETREDUCE_HD T log1p(T x) {
    const auto whole = fp::two_sum(T{1}, x);
    const auto part = detail::split(whole.value);
    // 2^-k, but no subnormal: from 2^64 on, 1 is nothing beside x.
    const fp::Bits<T> most = detail::bias<T> + 64, field = part.field < most ? part.field : most;
    const T down = fp::from_bits<T>((2 * detail::bias<T> - field) << detail::fraction_bits<T>);
    const T rest = detail::select(part.field < most, detail::product(whole.error, down), T{0}); // exact
    const auto f = fp::fast_two_sum(part.m - 1, rest);                                          // x itself where k = 0
    const auto sum = detail::logarithm(f.value, f.error, part.k);
    const T result = detail::logarithm_or_special(whole.value, sum.value + sum.error);
    return detail::select(detail::magnitude(x) < detail::Constants<T>::tiny, x, result);
}

/// log(1 + e^x), which does not overflow before x does.
///
/// domain       all x. Underflows through the subnormals to +0, where the true value, rounded, does
/// error        max_ulp<T>(Function::softplus)
/// special      softplus(−inf) = +0, softplus(+inf) = +inf, NaN → the canonical NaN
/// source       max(x, 0) + log(1 + e^-|x|)
template <Real T>
[[nodiscard]] DETREDUCE_HD T softplus(T x) {
    using C = detail::Constants<T>;
    const T size = detail::magnitude(x);
    const auto e = detail::exponential(detail::greater(-size, C::exp_lowest));
    const auto m = detail::mantissa(e);
    // e^-|x|, exact products. 1 + e^-|x| is 1 + f, or 2·(1 + f), whichever has f ≤ √2 − 1.
    const T scale = detail::power_of_two(detail::greater(e.k, C::deepest));
    const T high = detail::product(scale, m.value), low = detail::product(scale, m.error);
    const bool large = high > C::sqrt2_minus_1;
    const T halved = fp::fused(T{0.5}, high, T{-0.5});
    const T halved_error = fp::fused(T{0.5}, low, fp::fused(T{0.5}, high, T{-0.5} - halved));
    const auto near = detail::logarithm(detail::select(large, halved, high), detail::select(large, halved_error, low),
                                        detail::select(large, T{1}, T{0}));
    const auto sum = fp::two_sum(detail::greater(x, T{0}), near.value);
    const T middle = sum.value + (sum.error + near.error);
    const T left = detail::select(x < -C::far, detail::scaled(m.value, m.error, e.k), middle);
    return detail::unless_nan(x, detail::select(x > C::far, x, left));
}

} // namespace detreduce::math
