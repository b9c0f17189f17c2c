// What becomes of the sums of a row (lib/SPEC.md, section 17), for host and device alike.
#pragma once

#include <cstdint>

#include <detreduce/acc/finish.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/math/log.hpp>
#include <detreduce/spec/exp_term.hpp>

namespace detreduce::spec {

template <class V>
inline constexpr V quiet_nan = fp::from_bits<V>(fp::Format<V>::canonical_nan);
template <class V>
inline constexpr V infinite = fp::from_bits<V>(fp::infinity_bits<V>);

/// The logarithm of a positive normal number as high + low, high being it rounded.
template <class V>
[[nodiscard]] DETREDUCE_HD fp::Eft<V> log_in_two(V sum) {
    const auto part = math::detail::split(sum);
    const auto log = math::detail::logarithm(part.m - 1, V{0}, part.k);
    return fp::fast_two_sum(log.value, log.error);
}

/// Σ e^x of a row as sum · e^reference, and what is computed of it. A row whose greatest element is not finite has no such sum: its reference is that element.
template <class V>
struct ExpSum {
    V reference, sum;
    fp::Eft<V> log; ///< of sum
    V reciprocal;   ///< 1 / sum

    [[nodiscard]] static DETREDUCE_HD ExpSum of(V reference, V sum) {
        return {reference, sum, log_in_two(sum), V{1} / sum};
    }
    /// For a greatest element that is infinite or NaN. What is made of the row element by element is NaN.
    [[nodiscard]] static DETREDUCE_HD ExpSum special(V greatest) {
        constexpr V nan = quiet_nan<V>;
        return {greatest, nan, {nan, nan}, nan};
    }
    [[nodiscard]] DETREDUCE_HD bool is_special() const { return sum != sum; }

    [[nodiscard]] DETREDUCE_HD V logsumexp() const {
        if (is_special()) return fp::canonical(reference);
        if (reference == 0) return log.value;
        const auto whole = fp::two_sum(reference, log.value);
        return whole.value + (whole.error + log.error);
    }
    /// Of an element less the reference.
    [[nodiscard]] DETREDUCE_HD V log_softmax(V z) const { return (z - log.value) - log.error; }
};

/// Is a row's target a class? If not, what its loss, weight and gradient are: +0 where it is ignored, and else NaN.
template <class V>
struct RowClass {
    bool there;
    V otherwise;

    [[nodiscard]] static DETREDUCE_HD RowClass of(std::int64_t target, std::int64_t ignore_index, std::uint64_t n) {
        if (target == ignore_index) return {false, V{0}};
        return {target >= 0 && static_cast<std::uint64_t>(target) < n, quiet_nan<V>};
    }
};

/// Of the element at the target, which is the logarithm of a probability, and the target's weight.
template <class V>
[[nodiscard]] DETREDUCE_HD V nll_loss(V x, V weight) {
    return weight * -x;
}
template <class V>
[[nodiscard]] DETREDUCE_HD V nll_slope(V weight, V factor) {
    return -weight * factor;
}

/// What cross entropy is made of, beside the row.
template <class V>
struct SmoothedTarget {
    V at_target, at_all; ///< what the target's weight, and that of every class, counts: 1 − s and s / n

    [[nodiscard]] static DETREDUCE_HD SmoothedTarget of(double smoothing, std::uint64_t n) {
        return {static_cast<V>(1 - smoothing), static_cast<V>(smoothing / static_cast<double>(n))};
    }
    /// Of −log_softmax at the target, its weight, and, with smoothing, Σ weight · −log_softmax.
    [[nodiscard]] DETREDUCE_HD V loss(V of_target, V weight, V of_all) const {
        const V weighted = weight * of_target;
        return at_all == 0 ? weighted : fp::fused(at_all, of_all, math::detail::product(at_target, weighted));
    }
    /// What softmax is multiplied by in the gradient, of the target's weight and the sum of all.
    [[nodiscard]] DETREDUCE_HD V of_softmax(V weight, V all) const {
        return at_all == 0 ? weight : fp::fused(at_all, all, math::detail::product(at_target, weight));
    }
    /// What is subtracted from that.
    [[nodiscard]] DETREDUCE_HD V subtracted(bool is_target, V target_weight, V weight) const {
        const V own = is_target ? target_weight : V{0};
        return at_all == 0 ? own : fp::fused(at_all, weight, math::detail::product(at_target, own));
    }

    /// Where the target is a probability for each class, q of this one: it, smoothed;
    [[nodiscard]] DETREDUCE_HD V probability(V q) const { return at_all == 0 ? q : fp::fused(at_target, q, at_all); }
    /// what the class counts;
    [[nodiscard]] DETREDUCE_HD V coefficient(V weight, V q) const {
        return math::detail::product(weight, probability(q));
    }
    /// and what it adds to the loss, of its −log_softmax: nothing if it cannot be, by row and target alike.
    [[nodiscard]] DETREDUCE_HD V loss_of_class(V of_class, V weight, V q) const {
        return probability(q) == 0 && of_class == infinite<V> ? V{0} : coefficient(weight, q) * of_class;
    }
};

/// One element of the gradient.
template <class V>
[[nodiscard]] DETREDUCE_HD V cross_entropy_slope(V softmax, V of_softmax, V subtracted, V factor) {
    return fp::fused(softmax, of_softmax, -subtracted) * factor;
}

/// A number over another, computed in binary64 and rounded once.
struct Quotient {
    const void* numerator; ///< null: 1
    DType numerator_dtype;
    const double* denominator; ///< null: `otherwise`
    double otherwise;
    void* out;
    DType output;

    DETREDUCE_HD void write() const {
        double value = 1;
        if (numerator != nullptr)
            value = numerator_dtype == DType::f64 ? *static_cast<const double*>(numerator)
                                                  : static_cast<double>(*static_cast<const float*>(numerator));
        value = value / (denominator != nullptr ? *denominator : otherwise);
        acc::store_as(out, output, [&](auto t) { return fp::round_to<decltype(t)>(value); });
    }
};

/// 1 / √(square + epsilon), computed in binary64; square is a mean of squares.
template <class V>
[[nodiscard]] DETREDUCE_HD V reciprocal_deviation(double square, double epsilon) {
    return fp::round_to<V>(1.0 / fp::square_root(square + epsilon));
}

/// Of an element, the mean, and the reciprocal deviation.
template <class V>
[[nodiscard]] DETREDUCE_HD V normalized(V x, V mean, V rstd) {
    return (x - mean) * rstd;
}

} // namespace detreduce::spec
