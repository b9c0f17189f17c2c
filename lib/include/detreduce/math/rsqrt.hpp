// rsqrt.
//
// A guess from the bits (half the exponent, negated; the constant makes |1 − x·y²| ≤ 0.0682), then
// y·(1 + e/2 + 3e²/8) with e = 1 − x·y², which leaves about 5/8·e³ of e (Householder's iteration;
// Muller, Elementary Functions, 3rd ed., ch. 5). At last e is computed as if without rounding, and
// y·(1 + e/2) rounded once: what remains before that rounding is some 2^-45 (f32) or 2^-104 (f64)
// of the result.
#pragma once

#include <detreduce/math/parts.hpp>

namespace detreduce::math {
namespace detail {

template <class T>
[[nodiscard]] DETREDUCE_HD T closer_rsqrt(T x, T y) {
    const T e = fp::fused(-x * y, y, T{1});
    return fp::fused(y * e, fp::fused(e, T{0.375}, T{0.5}), y);
}

} // namespace detail

/// 1 / √x.
///
/// domain       x ≥ 0, subnormals too
/// error        max_ulp<T>(Function::rsqrt)
/// special      rsqrt(±0) = ±inf, rsqrt(+inf) = +0; NaN and x < 0 → the canonical NaN
template <Real T>
[[nodiscard]] DETREDUCE_HD T rsqrt(T x) {
    const bool subnormal = x < fp::from_bits<T>(fp::Bits<T>{1} << detail::fraction_bits<T>);
    const T normal = detail::select(subnormal, x * T(0x1p54), x);
    T y = fp::from_bits<T>(detail::Constants<T>::rsqrt_start - (fp::to_bits(normal) >> 1));
    y = detail::closer_rsqrt(normal, y);
    y = detail::closer_rsqrt(normal, y);
    if constexpr (fp::is_f64<T>) y = detail::closer_rsqrt(normal, y);
    const auto product = fp::two_prod(normal, y);
    const T e = fp::fused(-product.error, y, fp::fused(-product.value, y, T{1}));
    const T root = fp::fused(T{0.5} * y, e, y);
    const T result = detail::select(subnormal, root * T(0x1p27), root); // exact
    const T at_zero = fp::from_bits<T>(fp::infinity_bits<T> | (fp::to_bits(x) & fp::sign_mask<T>));
    const T positive = detail::select(x == detail::infinity<T>, T{0}, result);
    return detail::select(x > 0, positive, detail::select(x == 0, at_zero, detail::nan<T>));
}

} // namespace detreduce::math
