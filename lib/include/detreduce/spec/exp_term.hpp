// The exponentials that logsumexp and softmax add up (lib/SPEC.md, section 17.1), for host and device: fewer steps than math::exp, as there is one for
// each element of a row, and none of them rounded to a subnormal, so that they may be scaled, or multiplied and added at once, without a change of bits.
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/math/exp.hpp>

namespace detreduce::spec {

template <class V>
struct ExpTermConstants;
template <>
struct ExpTermConstants<float> {
    /// Below it a term is +0; above it as at it, which is more than any sum that is used as it is (see `usable`).
    static constexpr float lowest = -87, highest = 88;
    static constexpr float shifter = 0x1.8p+23f + 126; ///< t + shifter has t + 126 in its lowest bits
    static constexpr float ln2 =
        0x1.62e430p-1f; ///< 2^-28.9 more than log 2: what 125 times that is, 16-bit elements do not mind
    static constexpr float least_sum = 0x1p-24f, greatest_sum = 0x1p+64f;
};
template <>
struct ExpTermConstants<double> {
    static constexpr double lowest = -708.5, highest = 709;
    static constexpr double shifter = 0x1.8p+52 + 1022;
    static constexpr double least_sum = 0x1p-24, greatest_sum = 0x1p+512;
};

/// Largest error of a term, relative to e^z: 1.7 u of roundings, and that of the polynomial (2^-23.18 for 16-bit elements) and of their ln 2, with a margin.
template <class T>
inline constexpr double exp_term_error = fp::is_f64<T>   ? 0x1p-52
                                         : fp::is_f32<T> ? 0x1p-23
                                                         : 0x1p-21;
/// Terms of z below `lowest` are missing: each less than this.
template <class V>
inline constexpr double exp_term_missing = fp::is_f64<V> ? 0x1p-1021 : 0x1p-125;

/// 2·e^r, for |r| ≤ 1.0002·ln 2 / 2. As for exp(), the coefficients minimise the relative error, the first two held at 1: 2^-28.2 (f32), 2^-56.4 (f64), and
/// 2^-23.18 for elements of 16 bits, whose own last bits are 2^-11 and 2^-8.
template <class T>
[[nodiscard]] DETREDUCE_HD fp::Arithmetic<T> twice_exp_polynomial(fp::Arithmetic<T> r) {
    using math::detail::polynomial;
    if constexpr (fp::is_f64<T>) {
        return polynomial(r, 2.0, 2.0, 0x1.000000000000ap+0, 0x1.55555555554fap-2, 0x1.555555555086ep-4,
                          0x1.1111111127c3ep-6, 0x1.6c16c1842d9adp-9, 0x1.a01a012a4041cp-12, 0x1.a0199a022dcddp-15,
                          0x1.71df257731cd7p-18, 0x1.28ad7cc192bccp-21, 0x1.ad7f4ddd4122dp-25);
    } else if constexpr (fp::is_f32<T>) {
        return polynomial(r, 2.0f, 2.0f, 0x1.fffffcp-1f, 0x1.55548cp-2f, 0x1.555858p-4f, 0x1.123de0p-6f,
                          0x1.6ac74ap-9f);
    } else {
        return polynomial(r, 2.0f, 2.0f, 0x1.fffdfcp-1f, 0x1.5557aep-2f, 0x1.572a1ep-4f, 0x1.106274p-6f);
    }
}

/// A term, as mantissa · scale: scale is a power of two, or +0, and the product is exact.
template <class V>
struct ExpTerm {
    V mantissa, scale;
    [[nodiscard]] DETREDUCE_HD V value() const { return mantissa * scale; }
    [[nodiscard]] DETREDUCE_HD V added_to(V sum) const { return fp::fused(mantissa, scale, sum); }
};

/// The term of z, lowest ≤ z ≤ highest, or NaN.
template <class T>
[[nodiscard]] DETREDUCE_HD ExpTerm<fp::Arithmetic<T>> exp_term_within(fp::Arithmetic<T> z) {
    using V = fp::Arithmetic<T>;
    using C = math::detail::Constants<V>;
    constexpr V shifter = ExpTermConstants<V>::shifter;
    const V shifted = fp::fused(z, C::log2_e, shifter), k = shifted - shifter;
    V r;
    if constexpr (fp::is_narrow<T>) {
        r = fp::fused(k, -ExpTermConstants<V>::ln2, z);
    } else {
        r = fp::fused(k, -C::ln2_low, fp::fused(k, -C::ln2_high, z));
    }
    const V scale = fp::from_bits<V>(fp::to_bits(shifted) << (fp::Format<V>::precision - 1)); // 2^(k − 1)
    return {twice_exp_polynomial<T>(r), scale};
}

/// z, but not beyond [lowest, highest]; NaN stays.
template <class V>
[[nodiscard]] DETREDUCE_HD V within_exp_terms(V z) {
    using C = ExpTermConstants<V>;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (fp::is_f32<V>) {
        asm("max.NaN.f32 %0, %0, %1;" : "+f"(z) : "f"(C::lowest));
        asm("min.NaN.f32 %0, %0, %1;" : "+f"(z) : "f"(C::highest));
        return z;
    }
#endif
    return math::detail::lesser(math::detail::greater(z, C::lowest), C::highest);
}

/// The term of any z.
template <class T>
[[nodiscard]] DETREDUCE_HD ExpTerm<fp::Arithmetic<T>> exp_term(fp::Arithmetic<T> z) {
    return exp_term_within<T>(within_exp_terms(z));
}

/// Is this sum of terms, with 0 for reference, used as it is? Not if anything is NaN, or too large, or all is so small that missing terms would count.
template <class V>
[[nodiscard]] DETREDUCE_HD bool usable(V sum) {
    using C = ExpTermConstants<V>;
    return sum >= C::least_sum && sum <= C::greatest_sum;
}

} // namespace detreduce::spec
