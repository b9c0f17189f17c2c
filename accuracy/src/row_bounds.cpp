#include <detreduce/accuracy/row_bounds.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/math.hpp>
#include <detreduce/spec/exp_term.hpp>
#include <detreduce/spec/tree_order.hpp>

namespace detreduce::accuracy {
namespace {

constexpr double margin = 1 + 0x1p-40;

/// (1 + a)(1 + b) − 1, of which nothing cancels.
double both(double a, double b) noexcept {
    return a + b + a * b;
}

/// u and η of a format.
struct Unit {
    double u, eta;
};
Unit unit_of(DType dtype) noexcept {
    return with_dtype(dtype, []<class T>(T) {
        using F = fp::Format<T>;
        return Unit{std::ldexp(1.0, -F::precision), std::ldexp(1.0, F::min_exponent)};
    });
}
Unit unit_of_rows(DType input) noexcept {
    return unit_of(accumulator_of(input));
}
double gamma(DType input, std::uint64_t k) noexcept {
    return gamma_bound(accumulator_of(input), k);
}
std::uint64_t depth(DType input, std::uint64_t n) noexcept {
    return rounding_depth(Method::tree, input, n);
}

/// With the last rounding, if there is one.
double rounded(double bound, double size, DType input, DType output) noexcept {
    if (output == accumulator_of(input)) return bound * margin;
    const Unit o = unit_of(output);
    return (bound + o.u * (size + bound) + o.eta) * margin;
}

/// What is off in a sum of terms, relative to it and, against e^m, not.
struct SumErrors {
    double term, added, missing;
};
SumErrors sum_errors(const ExpSumCase& c) noexcept {
    const double epsilon = with_dtype(c.input, []<class T>(T) { return spec::exp_term_error<T>; });
    const double minimum = accumulator_of(c.input) == DType::f64
                               ? 0
                               : std::ldexp(1.0, static_cast<int>(spec::ExpTermConstants<float>::minimum_exponent));
    const std::uint64_t tiles =
        with_dtype(c.input, [&]<class T>(T) { return spec::tiles(c.n, spec::TreeOrder<sizeof(T)>::tile); });
    const std::uint64_t above = rounding_depth(Method::tree, accumulator_of(c.input), tiles);
    // (2^-1533 is nothing in binary64: the smallest subnormal covers it.)
    return {epsilon, gamma(c.input, depth(c.input, c.n) + above + 3), static_cast<double>(c.n) * 2 * minimum};
}
/// e of L, but for its own roundings.
double log_error(const ExpSumCase& c) noexcept {
    const double relative = others_bound(c);
    return relative / (1 - relative);
}
/// How much L may be off.
double log_bound(const ExpSumCase& c, double log) noexcept {
    const auto [u, eta] = unit_of_rows(c.input);
    const double of_sum = log * log_error(c) + sum_errors(c).missing + eta;
    return of_sum + 1.4 * u * (log + of_sum) + eta;
}
/// Of the reciprocal of all terms, relative to it, and its product with a number that is off by
/// `own`.
double share_error(const ExpSumCase& c, double own) noexcept {
    const double u = unit_of_rows(c.input).u;
    const SumErrors e = sum_errors(c);
    const double all = both(both(e.term, e.added), u) + e.missing;
    return both(both(own, both(u, u)), all / (1 - all));
}

/// Of a sum over another, or over a number, by a method that may cost sums as much as `e`.
double quotient_bound(const ErrorBound& e, DType output, const MeanSizes& s, bool over_weights) noexcept {
    const auto cost = [&](double size) { return (e.of_sum + e.of_abs) * size + e.absolute; };
    const double of_weights = over_weights ? cost(s.weights) : 0, divisor = s.weights - of_weights;
    if (!(divisor > 0)) return std::numeric_limits<double>::infinity();
    const double bound = (s.bounds + cost(s.losses + s.bounds) + s.mean * of_weights) / divisor;
    const Unit o = unit_of(output);
    return (bound + (0x1p-53 + o.u) * (s.mean + bound) + o.eta) * (1 + 0x1p-50) * margin;
}

} // namespace

double others_bound(const ExpSumCase& c) noexcept {
    const double u = unit_of_rows(c.input).u;
    const SumErrors e = sum_errors(c);
    return both(both(both(e.term, e.added), e.term / (1 - e.term)), u) * margin;
}

double logsumexp_bound(const ExpSumCase& c, DType output, double log, double result) noexcept {
    const double u = unit_of_rows(c.input).u, off = log_bound(c, log);
    return rounded(off + u * (result + off), result, c.input, output);
}
double log_softmax_bound(const ExpSumCase& c, DType output, double log, double difference) noexcept {
    const double u = unit_of_rows(c.input).u, off = log_bound(c, log) + u * difference, size = difference + log;
    return rounded(off + u * (size + off), size, c.input, output);
}
double softmax_bound(const ExpSumCase& c, DType output, double p) noexcept {
    const double eta = unit_of_rows(c.input).eta;
    return rounded(p * share_error(c, sum_errors(c).term) + eta, p, c.input, output);
}

double cross_entropy_bound(DType input, DType output, std::uint64_t n, const LossSizes& s) noexcept {
    const double g = gamma(input, s.alone ? 1 : depth(input, n) + 5);
    const double lost = static_cast<double>(s.alone ? 1 : n + 3) * unit_of_rows(input).eta;
    return rounded((1 + g) * s.bounds + g * s.sizes + lost, s.loss, input, output);
}
double mean_loss_bound(Method method, DType input, DType output, std::uint64_t rows, const MeanSizes& s) noexcept {
    return quotient_bound(error_bound(method, accumulator_of(input), DType::f64, rows), output, s, true);
}
double weighted_term_bound(DType input, const TermSizes& t) noexcept {
    const auto [u, eta] = unit_of_rows(input);
    const double unit = t.size > 0 ? std::max(std::ldexp(2 * u, std::ilogb(t.size)), eta) : eta;
    const double own = t.ulps * unit + t.underflow * eta, weight = std::fabs(t.weight);
    return (weight * own + u * weight * (t.value + own) + eta) * margin;
}
double weighted_mean_bound(Method method, DType input, DType output, std::uint64_t n, const MeanSizes& s,
                           bool over_weights) noexcept {
    return quotient_bound(error_bound(method, input, DType::f64, n), output, s, over_weights);
}
double cross_entropy_gradient_bound(const ExpSumCase& c, DType output, const SlopeSizes& s) noexcept {
    const double g = gamma(c.input, depth(c.input, c.n) + 7), f = std::fabs(s.factor), eta = unit_of_rows(c.input).eta;
    const double of_p = softmax_bound(c, accumulator_of(c.input), s.p), size = s.p * s.of_softmax + s.subtracted;
    const double bound = f * ((1 + g) * of_p * s.of_softmax + g * size) + 4 * (1 + f) * eta;
    return rounded(bound, f * size, c.input, output);
}
double z_loss_bound(DType input, DType output, const ZSizes& z, double loss, double bound) noexcept {
    const auto [u, eta] = unit_of_rows(input);
    const double M = z.logsumexp, B = z.bound, size = z.lambda * M * M + loss;
    const double off = z.lambda * ((2 * M + B) * B * (1 + u) + u * M * M) + bound + 2 * eta * (M + B + 1);
    return rounded(off + u * (size + off), size, input, output);
}
double z_gradient_bound(const ExpSumCase& c, DType output, const SlopeSizes& s, const ZSizes& z) noexcept {
    const auto [u, eta] = unit_of_rows(c.input);
    const double zeta = 2 * z.lambda * z.logsumexp,
                 of_zeta = 2 * z.lambda * ((1 + u) * z.bound + u * z.logsumexp) + eta, f = std::fabs(s.factor);
    const DType v = accumulator_of(c.input);
    const double of_p = softmax_bound(c, v, s.p), size = s.p * (s.of_softmax + zeta) + s.subtracted;
    const double bound = cross_entropy_gradient_bound(c, v, {s.p, s.of_softmax + zeta, s.subtracted, s.factor}) +
                         f * (1 + gamma(c.input, 3)) * ((s.p + of_p) * of_zeta + 3 * u * size);
    return rounded(bound, f * size, c.input, output);
}
double own_gradient_bound(const ExpSumCase& c, DType output, double share, double factor, bool target) noexcept {
    const auto [u, eta] = unit_of_rows(c.input);
    const SumErrors e = sum_errors(c);
    const double sized = both(e.term, e.added),
                 all = both(share_error(c, sized), target ? both(u, both(u, u)) : both(u, u));
    const double f = std::fabs(factor), size = f * share;
    return rounded(size * all + (1 + f) * (e.missing + 3 * eta), size, c.input, output);
}

NormErrors norm_errors(const NormSizes& s) noexcept {
    const DType v = accumulator_of(s.input);
    const auto n = static_cast<double>(s.n);
    const double square = s.m2 / n + s.epsilon;
    double mean = 0, off = 0;
    if (s.centred && s.by_power) {
        const double size = s.abs_sum / n, g = gamma(s.input, depth(s.input, s.n) + 2);
        const double spread = s.m2 / n + g * g * size * size;
        mean = 2 * g * std::sqrt(spread) + 2 * unit_of(v).u * size;
        off = 4 * g * spread + 0x1p-1000;
    } else if (s.centred) {
        const MomentsBound of_mean = moments_bound(Method::tree, s.input, v, s.n),
                           b = moments_bound(Method::tree, s.input, DType::f64, s.n);
        mean = (of_mean.of_mean + of_mean.of_abs) * s.abs_sum / n + of_mean.absolute;
        off =
            (b.of_m2 * s.m2 + b.of_mixed * std::sqrt(s.m2 * s.squares) + b.of_squares * s.squares + b.absolute_m2) / n +
            b.absolute;
    } else {
        const ErrorBound b = error_bound(Op::sumsq, Method::tree, s.input, v, s.n);
        off = ((b.of_sum + b.of_abs + 0x1p-52) * s.squares + b.absolute) / n;
    }
    const double infinite = std::numeric_limits<double>::infinity();
    if (!(off < square)) return {mean, infinite};
    const double share = off / square, of_root = share / 2 / (1 - share);
    return {mean * margin, both(both(of_root, 0x1.9p-52), unit_of(v).u) * margin};
}

double norm_bound(const NormSizes& s, DType output, const NormElement& e) noexcept {
    const auto [u, eta] = unit_of_rows(s.input);
    const NormErrors error = norm_errors(s);
    const double all = both(both(u, u), error.rstd);
    if (!(all < 1)) return std::numeric_limits<double>::infinity();
    // (a + δ)(1 + τ) − a, of which nothing cancels, and a·τ alone might underflow.
    double bound = e.deviation * e.rstd * all + error.mean * e.rstd * (1 + all) + eta;
    if (e.scaled) {
        bound *= std::fabs(e.scale);
        bound += u * (e.result + bound) + eta;
    }
    return rounded(bound, e.result, s.input, output);
}

namespace {

/// Means over the row: of |d·y| or |d| n times as much, of |g|, |z| and |g·z|.
struct GradSizes {
    double upstream = 0, g = 0, z = 0, gz = 0;
};

} // namespace

std::vector<double> row_gradient_bounds(const GradRow& row, DType input, DType output) {
    const auto [u, eta] = unit_of_rows(input);
    const std::size_t n = row.x.size();
    const std::uint64_t d = depth(input, n);
    const bool softmax = row.op == RowOp::softmax_gradient, log_softmax = row.op == RowOp::log_softmax_gradient,
               centred = row.op == RowOp::layernorm_gradient;
    const auto g_of = [&](std::size_t i) {
        return std::fabs(row.upstream[i] * (row.scale.empty() ? 1 : row.scale[i]));
    };
    const auto z_of = [&](std::size_t i) { return std::fabs((row.x[i] - (centred ? row.mean : 0)) * row.rstd); };
    const auto count = static_cast<double>(n);
    GradSizes sizes;
    for (std::size_t i = 0; i < n; ++i) {
        sizes.upstream += std::fabs(row.upstream[i] * (softmax ? row.x[i] : 1));
        sizes.g += g_of(i) / count;
        sizes.z += z_of(i) / count;
        sizes.gz += g_of(i) * z_of(i) / count;
    }
    // Of what is computed here, which is n sums of two roundings each.
    const double own = 1 + 4 * count * 0x1p-53;
    std::vector<double> bounds;
    for (std::size_t i = 0; i < n; ++i) {
        double bound = 0, size = 0;
        if (softmax) {
            const double y = std::fabs(row.x[i]);
            size = y * (std::fabs(row.upstream[i]) + sizes.upstream);
            bound = gamma(input, d + 3) * size + (count + 1) * eta * y + eta;
        } else if (log_softmax) {
            const bool f64 = accumulator_of(input) == DType::f64;
            const double ulps =
                f64 ? math::max_ulp<double>(math::Function::exp) : math::max_ulp<float>(math::Function::exp);
            const double part = std::exp(row.x[i]) * sizes.upstream;
            size = std::fabs(row.upstream[i]) + part;
            bound = (1 + u) * part * both(2 * u * ulps + 0x1p-50, gamma(input, d)) + u * size +
                    5 * eta * sizes.upstream + eta;
        } else {
            const double z = z_of(i), r = std::fabs(row.rstd);
            size = r * (g_of(i) + (centred ? sizes.g : 0) + z * sizes.gz);
            bound = gamma(input, d + 10) * size + 2 * eta * (1 + r * (5 + z * (sizes.g + sizes.z + 3) + sizes.gz));
        }
        bounds.push_back(rounded(bound * own, size, input, output));
    }
    return bounds;
}

double scale_gradient_bound(Method method, DType input, DType output, const GradColumn& c) noexcept {
    const double g = gamma(input, 3), eta = unit_of_rows(input).eta;
    double size = 0, lost = 0;
    for (std::size_t i = 0; i < c.x.size(); ++i) {
        const double d = std::fabs(c.upstream[i]), rstd = std::fabs(c.rstd[i]);
        size += d * std::fabs(c.x[i] - (c.mean.empty() ? 0 : c.mean[i])) * rstd;
        lost += 2 * eta * (d + 1) * (rstd + 1);
    }
    const ErrorBound e = error_bound(method, accumulator_of(input), output, c.x.size());
    const double of_terms = g * size + lost, all = size + of_terms;
    return (of_terms + (e.of_sum + e.of_abs) * all + e.absolute) * (1 + static_cast<double>(c.x.size()) * 0x1p-50) *
           margin;
}
double logsumexp_gradient_bound(const ExpSumCase& c, DType output, double p, double upstream) noexcept {
    const auto [u, eta] = unit_of_rows(c.input);
    const double of_p = softmax_bound(c, accumulator_of(c.input), p), f = std::fabs(upstream);
    return rounded(f * ((1 + u) * of_p + u * p) + eta, f * p, c.input, output);
}

double target_gradient_bound(DType input, DType output, double counts, double neg_log_prob, double bound,
                             double factor) noexcept {
    const double eta = unit_of_rows(input).eta, g = gamma(input, 5), f = std::fabs(factor), c = std::fabs(counts);
    const double off = f * c * ((1 + g) * bound + g * neg_log_prob) + 2 * eta * (1 + f) * (1 + neg_log_prob);
    return rounded(off, f * c * neg_log_prob, input, output);
}

} // namespace detreduce::accuracy
