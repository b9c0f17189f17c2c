// The exponentials that logsumexp and softmax add up, and how their sums merge (lib/SPEC.md,
// section 17.1), for host and device: e^z as a mantissa times 2^k, so that sums of them, each
// relative to the power of two of its own maximum, merge without a rounding.
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/math/exp.hpp>

namespace detreduce::spec {

template <class V>
struct ExpTermConstants;
template <>
struct ExpTermConstants<float> {
    static constexpr float offset = 64;             ///< the term of the maximum is about 2^offset
    static constexpr float minimum_exponent = -189; ///< of terms that are normal numbers, relative to the maximum's
    static constexpr float most = 126;              ///< 2^-most is the smallest normal number
};
template <>
struct ExpTermConstants<double> {
    static constexpr double offset = 512, minimum_exponent = -1533, most = 1022;
};
/// Elements below count as if they were this, and for nothing; rows whose maximum is greater than
/// `plain`, or less than −plain, are taken less it.
template <class V>
inline constexpr V exp_lowest = -36864;
template <class V>
inline constexpr V exp_plain = 32768;

/// Largest error of a term, relative to e^z: 1.7 u of roundings, and that of the polynomial
/// (2^-23.18 for 16-bit elements), with a margin.
template <class T>
inline constexpr double exp_term_error = fp::is_f64<T>   ? 0x1p-52
                                         : fp::is_f32<T> ? 0x1p-23
                                                         : 0x1p-22;

/// 2·e^r, for |r| ≤ 1.004·ln 2 / 2. As for exp(), the coefficients minimise the relative error, the
/// first two held at 1: 2^-28.2 (f32), 2^-56.4 (f64), and 2^-23.18 for elements of 16 bits, whose
/// own last bits are 2^-11 and 2^-8.
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

/// k of z, a whole number.
template <class V>
[[nodiscard]] DETREDUCE_HD V exp_exponent(V z) {
    using C = math::detail::Constants<V>;
    return fp::fused(z, C::log2_e, C::shifter) - C::shifter;
}

/// z, or, if that is greater, lowest. NaN stays.
template <class V>
[[nodiscard]] DETREDUCE_HD V not_below(V z, V lowest) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (fp::is_f32<V>) {
        asm("max.NaN.f32 %0, %0, %1;" : "+f"(z) : "f"(lowest));
        return z;
    }
#endif
    return math::detail::greater(z, lowest);
}

/// A term, as mantissa · scale: scale is a power of two, or +0, and the product is exact.
template <class V>
struct ExpTerm {
    V mantissa, scale;
    [[nodiscard]] DETREDUCE_HD V value() const { return mantissa * scale; }
    [[nodiscard]] DETREDUCE_HD V added_to(V sum) const { return fp::fused(mantissa, scale, sum); }
};

/// What terms are relative to: 2^exponent.
template <class V>
struct ExpReference {
    /// t + shifter has t − exponent + offset − 1 + bias in its lowest bits: those of
    /// 2^(k − exponent + offset − 1)
    V shifter;
    V lowest; ///< at it, and below, those bits are 0

    [[nodiscard]] static DETREDUCE_HD ExpReference of(V exponent) {
        using C = ExpTermConstants<V>;
        constexpr V shifter = math::detail::Constants<V>::shifter + (C::offset - 1 + fp::Format<V>::max_exponent);
        constexpr V ln2 = V(0x1.62e42fefa39efp-1);
        const V end = (exponent + (C::minimum_exponent - 1)) * ln2;
        return {shifter - exponent, math::detail::greater(end, exp_lowest<V>)};
    }
    /// Relative to e^z itself.
    [[nodiscard]] static DETREDUCE_HD ExpReference at(V z) { return of(exp_exponent(z)); }

    /// The term of z, which may be less than exp_lowest.
    template <class T>
    [[nodiscard]] DETREDUCE_HD ExpTerm<V> term(V z) const {
        using C = math::detail::Constants<V>;
        z = not_below(z, lowest);
        const V shifted = fp::fused(z, C::log2_e, shifter), k = shifted - shifter;
        const V r = fp::fused(k, -C::ln2_low, fp::fused(k, -C::ln2_high, z));
        const V scale = fp::from_bits<V>(fp::to_bits(shifted) << (fp::Format<V>::precision - 1));
        return {twice_exp_polynomial<T>(r), scale};
    }
};

/// The term of g relative to its own exponent.
template <class T>
[[nodiscard]] DETREDUCE_HD fp::Arithmetic<T> exp_peak(fp::Arithmetic<T> g) {
    return ExpReference<fp::Arithmetic<T>>::at(g).template term<T>(g).value();
}

/// 2^−δ for whole δ ≥ 0, in two factors.
template <class V>
struct ExpScale {
    V first, second;

    [[nodiscard]] static DETREDUCE_HD ExpScale of(V delta) {
        using math::detail::power_of_two, math::detail::select;
        constexpr V most = ExpTermConstants<V>::most;
        const V rest = delta > most ? delta - most : V{0};
        return {power_of_two(delta > most ? -most : -delta), rest > most ? V{0} : power_of_two(-rest)};
    }
    [[nodiscard]] DETREDUCE_HD V of_sum(V sum) const { return (sum * first) * second; }
};

/// How two states merge: which of them goes up in the other, and by how much it is less.
template <class T>
struct ExpMerge {
    using V = fp::Arithmetic<T>;
    bool swapped;
    V maximum;
    V peak; ///< of the lesser
    ExpScale<V> scale;

    [[nodiscard]] static DETREDUCE_HD ExpMerge of(V left, V right) {
        const bool swapped = right > left;
        const V most = swapped ? right : left, minimum = swapped ? left : right;
        const V k = exp_exponent(minimum);
        return {swapped, most, ExpReference<V>::of(k).template term<T>(minimum).value(),
                ExpScale<V>::of(exp_exponent(most) - k)};
    }
    /// Of sums of the two.
    [[nodiscard]] DETREDUCE_HD V operator()(V left, V right) const {
        return (swapped ? right : left) + scale.of_sum(swapped ? left : right);
    }
    /// Of those that the lesser's peak belongs to.
    [[nodiscard]] DETREDUCE_HD V with_peak(V left, V right) const {
        return (swapped ? right : left) + scale.of_sum((swapped ? left : right) + peak);
    }
};

/// What is known of some elements: the maximum z, and the sum of the terms of the others relative
/// to it.
template <class T>
struct ExpState {
    static constexpr bool pairwise_rows = false, keeps_errors = false, commutes = false;
    using Value = fp::Arithmetic<T>;
    using V = Value;
    V maximum, sum;

    /// Stands for elements that are not there: what it adds counts for nothing, as lowest does.
    [[nodiscard]] static DETREDUCE_HD constexpr ExpState identity() { return {exp_lowest<V>, V{0}}; }
    DETREDUCE_HD void merge(const ExpState& right) {
        const auto by = ExpMerge<T>::of(maximum, right.maximum);
        *this = {by.maximum, by.with_peak(sum, right.sum)};
    }
};

} // namespace detreduce::spec
