#include <detreduce/accuracy/loss_oracle.hpp>

#include <algorithm>
#include <limits>

#include <detreduce/fp/bits.hpp>

#include "real.hpp"

namespace detreduce::accuracy {

namespace {

/// log(1 + eˣ); far out x is as good, and no exponent is too large for MPFR.
Real softplus(const Real& x) {
    return Real(5000) < x ? x : log1p(exp(x));
}
Real sigmoid(const Real& x) {
    return 1 / (1 + exp(0 - x));
}

/// A true value, and what its error is measured at.
struct Value {
    Real value, size;
    explicit Value(const Real& v) : value(v), size(abs(v)) {}
    Value(const Real& v, const Real& s) : value(v), size(s) {}
};

struct Arguments {
    Loss loss;
    Real p, x, t;
    template <class V>
    explicit Arguments(const LossCase<V>& c)
        : loss(c.loss), p(static_cast<double>(c.parameter)), x(static_cast<double>(c.x)), t(static_cast<double>(c.t)) {}
    /// The same numbers for another loss, without a parameter.
    [[nodiscard]] Arguments of(Loss other) const {
        Arguments same = *this;
        same.loss = other;
        same.p = Real(1);
        return same;
    }
};

/// Of bce_with_logits with a pos_weight: p·t, and that of the side on which x is not.
struct Weighted {
    Real one, q, shared;
    explicit Weighted(const Arguments& in)
        : one(in.p * in.t), q(in.x <= 0 ? one : 1 - in.t), shared(one + (1 - in.t)) {}
};
/// Of focal: 1 less the probability of the target, a power of it, and what the error of that is
/// measured at.
struct Focal {
    Real m, scale, size;
    explicit Focal(const Arguments& in)
        : m(sigmoid(in.x) * (1 - in.t) + sigmoid(0 - in.x) * in.t), scale(exp(in.p * log(m))),
          size(scale * (1 + in.p * (1 + abs(log(m))))) {}
};

/// 0 where the target says that the logarithm does not matter.
Real times_log(const Real& t, const Real& logarithm) {
    return mpfr_zero_p(t.value) ? Real(0) : t * logarithm;
}

Value term_of(const Arguments& in) {
    const auto& [loss, p, x, t] = in;
    const Real d = x - t, a = abs(d);
    switch (loss) {
    case Loss::mse:
        return Value(d * d);
    case Loss::mae:
        return Value(a);
    case Loss::huber:
        return Value(a <= p ? d * d / 2 : p * (a - p / 2));
    case Loss::smooth_l1:
        return Value(a < p ? d * d / (2 * p) : a - p / 2);
    case Loss::bce: {
        const Real one = max(log(x), -100), zero = max(log1p(0 - x), -100);
        return {0 - t * one - (1 - t) * zero, abs(t * one) + abs((1 - t) * zero)};
    }
    case Loss::bce_with_logits: {
        const Weighted w(in);
        const Real whole = times_log(w.one, softplus(0 - x)) + times_log(1 - t, softplus(x));
        return {whole, abs(x * w.q) + abs(w.shared) * softplus(0 - abs(x))};
    }
    case Loss::kl_div_log_target:
        return Value(exp(t) * (t - x));
    case Loss::focal: {
        const Focal f(in);
        const Value entropy = term_of(in.of(Loss::bce_with_logits));
        return {f.scale * entropy.value, f.size * entropy.size};
    }
    case Loss::kl_div:
        break;
    }
    if (mpfr_zero_p(t.value)) return Value(Real(0));
    return {t * (log(t) - x), t * (abs(log(t)) + abs(x))};
}

Value slope_of(const Arguments& in) {
    const auto& [loss, p, x, t] = in;
    const Real d = x - t, a = abs(d), sign = mpfr_sgn(d.value);
    switch (loss) {
    case Loss::mse:
        return Value(2 * d);
    case Loss::mae:
        return Value(sign);
    case Loss::huber:
        return Value(a <= p ? d : sign * p);
    case Loss::smooth_l1:
        return Value(a < p ? d / p : sign);
    case Loss::bce:
        return Value((x - t) / max(x * (1 - x), 1e-12));
    case Loss::bce_with_logits: { // sigmoid(x) − t, of which nothing cancels
        const Weighted w(in);
        return {(1 - t) * sigmoid(x) - w.one * sigmoid(0 - x), abs(w.q) + abs(w.shared) * sigmoid(0 - abs(x))};
    }
    case Loss::kl_div_log_target:
        return Value(0 - exp(t));
    case Loss::focal: {
        const Focal f(in);
        const Value entropy = slope_of(in.of(Loss::bce_with_logits));
        const Real of_scale =
            p * (1 - 2 * t) * sigmoid(x) * sigmoid(0 - x) / f.m * term_of(in.of(Loss::bce_with_logits)).value;
        return {f.scale * (of_scale + entropy.value), f.size * (abs(of_scale) + entropy.size)};
    }
    case Loss::kl_div:
        break;
    }
    return Value(0 - t);
}

/// With respect to the target.
Value target_slope_of(const Arguments& in) {
    const auto& [loss, p, x, t] = in;
    switch (loss) {
    case Loss::bce: {
        const Real one = max(log(x), -100), zero = max(log1p(0 - x), -100);
        return {zero - one, abs(zero) + abs(one)};
    }
    case Loss::bce_with_logits:
        if (mpfr_cmp_d(p.value, 1) == 0) return Value(0 - x);
        return {p * softplus(0 - x) - softplus(x), abs(p - 1) * softplus(0 - abs(x)) + (x <= 0 ? p * abs(x) : abs(x))};
    case Loss::kl_div_log_target:
        return {exp(t) * (t - x + 1), exp(t) * (abs(t - x) + 1)};
    case Loss::focal: {
        const Focal f(in);
        const Real ratio = p * term_of(in.of(Loss::bce_with_logits)).value / f.m;
        return {f.scale * ((1 - 2 * sigmoid(x)) * ratio - x), f.size * (ratio + abs(x))};
    }
    case Loss::kl_div:
        return {log(t) - x + 1, abs(log(t)) + abs(x) + 1};
    default:
        break;
    }
    const Value slope = slope_of(in);
    return {0 - slope.value, slope.size};
}
Value slope_of(const Arguments& in, LossArgument argument) {
    return argument == LossArgument::x ? slope_of(in) : target_slope_of(in);
}

TrueLoss true_loss(const Value& truth) {
    const double high = truth.value.nearest();
    return {high, (truth.value - high).nearest(), truth.size.nearest()};
}

template <class V>
double error_at(const Value& truth, V result) {
    using F = fp::Format<V>;
    constexpr double wrong = std::numeric_limits<double>::infinity();
    if (fp::is_nan(result)) return wrong;
    if (!fp::is_finite(result)) {
        const bool beyond = mpfr_get_exp(truth.size.value) > F::max_exponent; // or nearly: halves of it may be
        return beyond && fp::is_negative(result) == (mpfr_sgn(truth.value.value) < 0) ? 0 : wrong;
    }
    const mpfr_exp_t last =
        mpfr_zero_p(truth.size.value) ? F::min_exponent : mpfr_get_exp(truth.size.value) - F::precision;
    const mpfr_exp_t unit = std::clamp<mpfr_exp_t>(last, F::min_exponent, F::max_exponent + 1 - F::precision);
    Real error = abs(truth.value - static_cast<double>(result));
    mpfr_mul_2si(error.value, error.value, -unit, MPFR_RNDN);
    return mpfr_get_d(error.value, MPFR_RNDN);
}

} // namespace

template <class V>
double term_error_in_ulps(const LossCase<V>& c, V result) {
    return error_at(term_of(Arguments(c)), result);
}

template <class V>
TrueLoss true_loss(const LossCase<V>& c) {
    return true_loss(term_of(Arguments(c)));
}

template <class V>
TrueLoss true_weighted_mean(std::span<const LossCase<V>> cases, std::span<const double> weights, double over) {
    Real sum, all(over);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        sum = sum + term_of(Arguments(cases[i])).value * weights[i];
        if (over == 0) all = all + weights[i];
    }
    return true_loss(Value(sum / all));
}

template <class V>
double slope_error_in_ulps(const LossCase<V>& c, V result, LossArgument argument) {
    return error_at(slope_of(Arguments(c), argument), result);
}

template <class V>
double difference_error_in_ulps(const LossCase<V>& c, V result, LossArgument argument) {
    Arguments left(c), right(c);
    Real &below = argument == LossArgument::x ? left.x : left.t,
         &above = argument == LossArgument::x ? right.x : right.t;
    Real h(1);
    const mpfr_exp_t exponent = mpfr_zero_p(below.value) ? -20 : mpfr_get_exp(below.value);
    mpfr_mul_2si(h.value, h.value, exponent - 150, MPFR_RNDN);
    below = below - h;
    above = above + h;
    const Real slope = (term_of(right).value - term_of(left).value) / (2 * h);
    return error_at(Value(slope, max(abs(slope), slope_of(Arguments(c), argument).size)), result);
}

template double term_error_in_ulps(const LossCase<float>&, float);
template double term_error_in_ulps(const LossCase<double>&, double);
template TrueLoss true_loss(const LossCase<float>&);
template TrueLoss true_loss(const LossCase<double>&);
template TrueLoss true_weighted_mean(std::span<const LossCase<float>>, std::span<const double>, double);
template TrueLoss true_weighted_mean(std::span<const LossCase<double>>, std::span<const double>, double);
template double slope_error_in_ulps(const LossCase<float>&, float, LossArgument);
template double slope_error_in_ulps(const LossCase<double>&, double, LossArgument);
template double difference_error_in_ulps(const LossCase<float>&, float, LossArgument);
template double difference_error_in_ulps(const LossCase<double>&, double, LossArgument);

} // namespace detreduce::accuracy
