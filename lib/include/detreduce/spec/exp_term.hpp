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
template <class V>
inline constexpr V exp_ln2 = V(0x1.62e42fefa39efp-1);

/// Largest error of a term, relative to e^z: 1.7 u of roundings, and that of the polynomial, with a
/// margin. A factor that all terms of a row have is left out. A term of 16-bit elements whose
/// scale is a normal number has a distance d < 132 from the maximum, and an error of up to
/// 2^-22 + 2^-28.4 d: its ln 2 is the nearest number of binary32.
template <class T>
inline constexpr double exp_term_error = fp::is_f64<T>   ? 0x1p-52
                                         : fp::is_f32<T> ? 0x1p-23
                                                         : 0x1.5p-21;

/// 2·e^r, for |r| ≤ 1.004·ln 2 / 2. As for exp(), the coefficients minimise the relative error, the
/// first two held at 1: 2^-28.2 (f32), 2^-56.4 (f64).
[[nodiscard]] DETREDUCE_HD float twice_exp_polynomial(float r) {
    return math::detail::polynomial(r, 2.0f, 2.0f, 0x1.fffffcp-1f, 0x1.55548cp-2f, 0x1.555858p-4f, 0x1.123de0p-6f,
                                    0x1.6ac74ap-9f);
}
[[nodiscard]] DETREDUCE_HD double twice_exp_polynomial(double r) {
    return math::detail::polynomial(r, 2.0, 2.0, 0x1.000000000000ap+0, 0x1.55555555554fap-2, 0x1.555555555086ep-4,
                                    0x1.1111111127c3ep-6, 0x1.6c16c1842d9adp-9, 0x1.a01a012a4041cp-12,
                                    0x1.a0199a022dcddp-15, 0x1.71df257731cd7p-18, 0x1.28ad7cc192bccp-21,
                                    0x1.ad7f4ddd4122dp-25);
}
/// e^r, for |r| ≤ 0.52·ln 2 / 32, the first coefficient held at 1: 2^-23.98.
[[nodiscard]] DETREDUCE_HD float step_exp_polynomial(float r) {
    return math::detail::polynomial(r, 1.0f, 0x1.00010cp+0f, 0x1.00019p-1f);
}

/// The steps of 2^(1/32) in which e^z of 16-bit elements is counted.
struct ExpSteps {
    static constexpr int bits = 5, count = 1 << bits;
    static constexpr int below = fp::Format<float>::precision - 1 - bits; ///< bits of a significand below a step
    static constexpr float log2_e = math::detail::Constants<float>::log2_e * count, ln2 = exp_ln2<float> / count;

    /// 2^(q / 32 − 127) has the bits 2^18·q + this. The last five bits of q say what it is.
    [[nodiscard]] DETREDUCE_HD std::uint32_t operator()(std::uint32_t q) const {
        const std::int32_t s = static_cast<std::int32_t>(q << (32 - bits)) >> (32 - bits);
        const std::uint32_t twice = fp::to_bits(twice_exp_polynomial(static_cast<float>(s) * ln2));
        return twice - (128u << (below + bits)) - (static_cast<std::uint32_t>(s) << below);
    }
};

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

/// A term, as mantissa · scale. Scale is +0 or, but for 16-bit elements, a power of two, so that
/// the product is exact.
template <class V>
struct ExpTerm {
    V mantissa, scale;
    [[nodiscard]] DETREDUCE_HD V value() const { return mantissa * scale; }
    [[nodiscard]] DETREDUCE_HD V added_to(V sum) const { return fp::fused(mantissa, scale, sum); }
};

/// What terms of elements of T are relative to: 2^exponent.
template <class V>
struct ExpReference {
    /// t + shifter has t − exponent + offset − 1 + bias in its lowest bits: those of
    /// 2^(k − exponent + offset − 1). Of 16-bit elements 32·(t − exponent + offset + bias).
    V shifter;
    V lowest; ///< at it, and below, those bits are 0

    template <class T>
    [[nodiscard]] static DETREDUCE_HD ExpReference of(V exponent) {
        using C = ExpTermConstants<V>;
        constexpr bool in_steps = fp::is_narrow<T>;
        constexpr V steps = in_steps ? ExpSteps::count : 1, less = in_steps ? 0 : 1;
        constexpr V ahead = C::offset - less + fp::Format<V>::max_exponent;
        return {(math::detail::Constants<V>::shifter + steps * ahead) - steps * exponent,
                math::detail::greater((exponent - ahead) * exp_ln2<V>, exp_lowest<V>)};
    }
    /// Relative to e^z itself.
    template <class T>
    [[nodiscard]] static DETREDUCE_HD ExpReference at(V z) {
        return of<T>(exp_exponent(z));
    }

    /// Of 16-bit elements: what `steps` is asked for in term(z, steps).
    [[nodiscard]] DETREDUCE_HD std::uint32_t in_steps(V z) const {
        return fp::to_bits(fp::fused(not_below(z, lowest), ExpSteps::log2_e, shifter));
    }
    /// The term of z, which may be less than exp_lowest. steps: an ExpSteps, or what knows the
    /// same.
    template <class T, class Steps = ExpSteps>
    [[nodiscard]] DETREDUCE_HD ExpTerm<V> term(V z, const Steps& steps = {}) const {
        using C = math::detail::Constants<V>;
        z = not_below(z, lowest);
        if constexpr (fp::is_narrow<T>) {
            const V shifted = fp::fused(z, ExpSteps::log2_e, shifter);
            const V r = fp::fused(shifted - shifter, -ExpSteps::ln2, z);
            const std::uint32_t q = fp::to_bits(shifted);
            return {step_exp_polynomial(r), fp::from_bits<V>((q << ExpSteps::below) + steps(q))};
        } else {
            const V shifted = fp::fused(z, C::log2_e, shifter), k = shifted - shifter;
            const V r = fp::fused(k, -C::ln2_low, fp::fused(k, -C::ln2_high, z));
            return {twice_exp_polynomial(r), fp::from_bits<V>(fp::to_bits(shifted) << (fp::Format<V>::precision - 1))};
        }
    }
};

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

/// What is known of some elements: the maximum z, and the sum of the terms of the others, and the
/// term of that one, relative to it.
template <class T>
struct ExpState {
    static constexpr bool pairwise_rows = false, keeps_errors = false, commutes = false;
    using Value = fp::Arithmetic<T>;
    using V = Value;
    V maximum, sum, peak;

    /// steps: as ExpReference::term() says.
    template <class Steps = ExpSteps>
    [[nodiscard]] static DETREDUCE_HD ExpState of(V maximum, V sum, const Steps& steps = {}) {
        return {maximum, sum, ExpReference<V>::template at<T>(maximum).template term<T>(maximum, steps).value()};
    }
    /// Stands for elements that are not there: what it adds counts for nothing, as lowest does.
    [[nodiscard]] static DETREDUCE_HD constexpr ExpState identity() { return {exp_lowest<V>, V{0}, V{0}}; }
    DETREDUCE_HD void merge(const ExpState& right) {
        const bool swapped = right.maximum > maximum;
        const ExpState most = swapped ? right : *this, lesser = swapped ? *this : right;
        const auto scale = ExpScale<V>::of(exp_exponent(most.maximum) - exp_exponent(lesser.maximum));
        *this = {most.maximum, most.sum + scale.of_sum(lesser.sum + lesser.peak), most.peak};
    }
};

} // namespace detreduce::spec
