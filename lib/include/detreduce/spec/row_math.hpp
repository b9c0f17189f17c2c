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

/// Σ e^x of a row, with its maximum taken out. A row whose maximum is not finite has no such sum.
template <class T>
struct ExpSum {
    using V = fp::Arithmetic<T>;
    V maximum;
    V origin; ///< what elements are taken less: 0, or the maximum
    ExpReference<V> reference;
    V others;     ///< the sum of all terms but that of the maximum
    V reciprocal; ///< 1 / (that of all)
    V log;        ///< log(1 + others over the term of the maximum)

    /// Are the elements taken as they are? If not, or if a sum of them is NaN, the row is looked at
    /// again.
    [[nodiscard]] static DETREDUCE_HD bool is_plain(const ExpState<T>& row) {
        return math::detail::magnitude(row.maximum) <= exp_plain<V> && row.sum == row.sum;
    }
    /// Of elements less origin, 0 or the maximum, which have this state. `with_log`: if not, the
    /// logarithm is not asked for.
    [[nodiscard]] static DETREDUCE_HD ExpSum of(const ExpState<T>& row, V origin, bool with_log = true) {
        return {origin == 0 ? row.maximum : origin,
                origin,
                ExpReference<V>::template at<T>(row.maximum),
                row.sum,
                V{1} / (row.sum + row.peak),
                with_log ? math::log1p(row.sum / row.peak) : V{0}};
    }
    [[nodiscard]] static DETREDUCE_HD ExpSum plain(const ExpState<T>& row, bool with_log = true) {
        return of(row, V{0}, with_log);
    }
    /// For a maximum that is infinite or NaN. What is made of the row element by element is NaN.
    [[nodiscard]] static DETREDUCE_HD ExpSum special(V maximum) {
        constexpr V nan = quiet_nan<V>;
        return {maximum, V{0}, {nan, nan}, nan, nan, nan};
    }
    /// Of what keep() has kept of it.
    [[nodiscard]] static DETREDUCE_HD ExpSum of_kept(const V* kept, bool with_log = true) {
        const V most = kept[0], sum = kept[1];
        if (!fp::is_finite(most) || sum != sum) return special(most);
        const V origin = math::detail::magnitude(most) <= exp_plain<V> ? V{0} : most;
        return of(ExpState<T>::of(most - origin, sum), origin, with_log);
    }
    /// All that gradients need of it: the maximum, and the sum of the other terms. Zeros are +0.
    DETREDUCE_HD void keep(V* kept) const {
        kept[0] = fp::canonical(maximum + V{0});
        kept[1] = fp::canonical(others + V{0});
    }
    /// In its place, where a row is not looked at.
    static DETREDUCE_HD void keep_none(V* kept) { kept[0] = kept[1] = quiet_nan<V>; }
    [[nodiscard]] DETREDUCE_HD bool is_special() const { return log != log; }

    [[nodiscard]] DETREDUCE_HD V logsumexp() const { return is_special() ? fp::canonical(maximum) : maximum + log; }
    [[nodiscard]] DETREDUCE_HD V log_softmax(V x) const { return (x - maximum) - log; }
    [[nodiscard]] DETREDUCE_HD V neg_log_prob(V x) const { return (maximum - x) + log; }
    /// steps: as ExpReference::term() says.
    template <class Steps = ExpSteps>
    [[nodiscard]] DETREDUCE_HD V softmax(V x, const Steps& steps = {}) const {
        return reference.template term<T>(x - origin, steps).value() * reciprocal;
    }
    /// 1 − softmax of the maximum.
    [[nodiscard]] DETREDUCE_HD V rest() const { return others * reciprocal; }
    /// softmax − 1, of an element and its softmax.
    [[nodiscard]] DETREDUCE_HD V softmax_less_one(V x, V p) const { return x == maximum ? -rest() : p - V{1}; }
};

/// Is a row's target a class? If not, what its loss, weight and gradient are: +0 where it is
/// ignored, and else NaN.
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
    /// With z_loss λ: of a loss and logsumexp. And what softmax is multiplied by for it in the
    /// gradient.
    [[nodiscard]] static DETREDUCE_HD V with_z_loss(V loss, V lambda, V logsumexp) {
        return lambda == 0 ? loss : fp::fused(lambda * logsumexp, logsumexp, loss);
    }
    [[nodiscard]] static DETREDUCE_HD V z_slope(V lambda, V logsumexp) {
        return lambda == 0 ? V{0} : (2 * lambda) * logsumexp;
    }
    /// An element of the gradient whose softmax is p.
    [[nodiscard]] static DETREDUCE_HD V with_z_slope(V slope, V z, V p) {
        return z == 0 ? slope : fp::fused(z, p, slope);
    }
    /// What softmax is multiplied by in the gradient, of the target's weight and the sum of all.
    [[nodiscard]] DETREDUCE_HD V of_softmax(V weight, V all) const {
        return at_all == 0 ? weight : fp::fused(at_all, all, math::detail::product(at_target, weight));
    }
    /// The gradient of a class that is not the target, but for the factor: of its softmax, what
    /// that is multiplied by, and its weight.
    [[nodiscard]] DETREDUCE_HD V slope(V p, V of_softmax, V weight) const {
        return at_all == 0 ? of_softmax * p : fp::fused(p, of_softmax, -math::detail::product(at_all, weight));
    }
    /// The same where classes have no weights: −0 is added without smoothing, which leaves the
    /// product as it is.
    [[nodiscard]] DETREDUCE_HD V slope(V p, V of_softmax) const { return fp::fused(p, of_softmax, -at_all); }
    /// And of the target, whose softmax less 1 is `less`; `all` is the sum of all weights, z that
    /// of z_loss.
    [[nodiscard]] DETREDUCE_HD V target_slope(V p, V less, V all, V weight, V z = V{0}) const {
        const V own = weight * less;
        if (at_all == 0) return with_z_slope(own, z, p);
        return with_z_slope(fp::fused(at_all, fp::fused(p, all, -weight), math::detail::product(at_target, own)), z, p);
    }

    /// Where the target is a probability for each class, q of this one: it, smoothed;
    [[nodiscard]] DETREDUCE_HD V probability(V q) const { return at_all == 0 ? q : fp::fused(at_target, q, at_all); }
    /// what the class counts;
    [[nodiscard]] DETREDUCE_HD V coefficient(V weight, V q) const {
        return math::detail::product(weight, probability(q));
    }
    /// and what it adds to the loss, of its −log_softmax: nothing if it cannot be, by row and
    /// target alike.
    [[nodiscard]] DETREDUCE_HD V loss_of_class(V of_class, V weight, V q) const {
        return probability(q) == 0 && of_class == infinite<V> ? V{0} : coefficient(weight, q) * of_class;
    }
};

/// One element of the gradient where classes have probabilities, but for the factor: `all` is the
/// sum of what they count, `own` what this one does, z that of z_loss.
template <class T>
[[nodiscard]] DETREDUCE_HD fp::Arithmetic<T> slope_of_class(const ExpSum<T>& sum, fp::Arithmetic<T> x,
                                                            fp::Arithmetic<T> p, fp::Arithmetic<T> all,
                                                            fp::Arithmetic<T> own, fp::Arithmetic<T> z) {
    using V = fp::Arithmetic<T>;
    const bool most = x == sum.maximum && p >= V(0.5);
    return SmoothedTarget<V>::with_z_slope(most ? fp::fused(-sum.rest(), all, all - own) : fp::fused(p, all, -own), z,
                                           p);
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
/// Did squares of the row overflow or underflow?
template <class V>
[[nodiscard]] DETREDUCE_HD bool asks_for_scale(double square, double epsilon) {
    constexpr double minimum = fp::is_f64<V> ? 0x1p-900 : 0x1p-96;
    return !(square <= 0x1.fffffffffffffp+1023 && square + epsilon >= minimum);
}

/// x·2^(−exponent), in two factors.
template <class V>
struct PowerScale {
    V first, second;

    [[nodiscard]] static DETREDUCE_HD PowerScale of(int exponent) {
        const int half = exponent >= 0 ? exponent / 2 : (exponent - 1) / 2; // rounded down
        return {power(-half), power(half - exponent)};
    }
    [[nodiscard]] DETREDUCE_HD V operator()(V x) const { return (x * first) * second; }

  private:
    /// 2^k, 0 where that is less than the smallest normal number.
    [[nodiscard]] static DETREDUCE_HD V power(int k) {
        constexpr int bias = fp::Format<V>::max_exponent;
        return k < 1 - bias ? V{0}
                            : fp::from_bits<V>(static_cast<fp::Bits<V>>(k + bias) << (fp::Format<V>::precision - 1));
    }
};

/// Of rows that are scaled: by how much, and what is found out of them.
template <class V>
struct NormScale {
    int exponent;
    PowerScale<V> down;
    double epsilon; ///< scaled twice

    /// Is there one, for the maximum magnitude of the row?
    [[nodiscard]] static DETREDUCE_HD bool exists(V maximum) { return maximum > 0 && fp::is_finite(maximum); }
    [[nodiscard]] static DETREDUCE_HD NormScale of(V maximum, double epsilon) {
        const double root = fp::square_root(epsilon), size = static_cast<double>(maximum);
        const auto field = static_cast<int>(fp::to_bits(root > size ? root : size) >> 52);
        const int exponent = (field > 0 ? field : 1) - 1023;
        const auto d = PowerScale<double>::of(exponent);
        return {exponent, PowerScale<V>::of(exponent), (((epsilon * d.first) * d.second) * d.first) * d.second};
    }
    /// μ', of μ₀ and the sum of what elements are more.
    [[nodiscard]] static DETREDUCE_HD V mean(V first, V more, std::uint64_t n) {
        return fp::round_to<V>(static_cast<double>(first) + static_cast<double>(more) / static_cast<double>(n));
    }
    /// v', of the sums of what elements are more and of its squares.
    [[nodiscard]] static DETREDUCE_HD double variance(V more, V squares, std::uint64_t n) {
        const auto d = static_cast<double>(more), count = static_cast<double>(n);
        const double square = d * d;
        const double v = (static_cast<double>(squares) - square / count) / count;
        return v > 0 ? v : 0;
    }
    [[nodiscard]] DETREDUCE_HD double root(double square) const { return 1.0 / fp::square_root(square + epsilon); }
    /// r' of w. `asked`: epsilon as it was given.
    [[nodiscard]] static DETREDUCE_HD V rstd(double w, double asked) {
        constexpr V most = fp::from_bits<V>(static_cast<fp::Bits<V>>(fp::infinity_bits<V> - 1));
        const V r = fp::round_to<V>(w);
        return asked > 0 && !(r <= most) ? most : r;
    }
    /// The row's own mean, and reciprocal deviation.
    [[nodiscard]] DETREDUCE_HD V own_mean(V mean) const { // by a power that may be no number of V, if it is 0
        return mean == 0 ? mean : PowerScale<V>::of(-exponent)(mean);
    }
    [[nodiscard]] DETREDUCE_HD V own_rstd(double w) const {
        return fp::round_to<V>(PowerScale<double>::of(exponent)(w));
    }
};

/// Of an element, the mean, and the reciprocal deviation.
template <class V>
[[nodiscard]] DETREDUCE_HD V normalized(V x, V mean, V rstd) {
    return (x - mean) * rstd;
}

} // namespace detreduce::spec
