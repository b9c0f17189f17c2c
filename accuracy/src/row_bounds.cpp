#include <detreduce/accuracy/row_bounds.hpp>

#include <cmath>
#include <limits>

#include <detreduce/accuracy/bounds.hpp>
#include <detreduce/spec/exp_term.hpp>

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

/// ε', and what a missing term is at most, relative to the sum.
struct TermErrors {
    double relative, missing;
};
TermErrors term_errors(const ExpSumCase& c) noexcept {
    const double epsilon = with_dtype(c.input, []<class T>(T) { return spec::exp_term_error<T>; });
    const double missing =
        accumulator_of(c.input) == DType::f64 ? spec::exp_term_missing<double> : spec::exp_term_missing<float>;
    if (c.reference == 0) return {epsilon, missing * 0x1p+25};
    const double ur = unit_of_rows(c.input).u * c.reach;
    return {both(epsilon, ur / (1 - ur)), missing};
}
double log_error(const ExpSumCase& c) noexcept {
    const double relative = exp_sum_bound(c);
    return relative / (1 - relative);
}

} // namespace

double exp_sum_bound(const ExpSumCase& c) noexcept {
    const TermErrors term = term_errors(c);
    const double all = both(term.relative, gamma(c.input, depth(c.input, c.n)));
    return (all + static_cast<double>(c.n) * term.missing) * margin;
}

double logsumexp_bound(const ExpSumCase& c, DType output, double log_sum) noexcept {
    const double u = unit_of_rows(c.input).u, e = log_error(c), size = log_sum + e;
    const double truth = std::fabs(c.reference) + log_sum;
    if (c.reference == 0) return rounded(e + 1.4 * u * size, log_sum, c.input, output);
    const double pair = e + 2.4 * u * size;
    return rounded(pair * (1 + u) + u * truth + 4 * u * u * (std::fabs(c.reference) + size), truth, c.input, output);
}
double log_softmax_bound(const ExpSumCase& c, DType output, double log_sum, double difference) noexcept {
    const double u = unit_of_rows(c.input).u, e = log_error(c), size = log_sum + e;
    const double bound = e + 2.4 * u * size + (2.4 * u + gamma(c.input, 3) * (1 + 4 * u)) * (difference + size);
    return rounded(bound, difference + log_sum, c.input, output);
}
double softmax_bound(const ExpSumCase& c, DType output, double p) noexcept {
    const auto [u, eta] = unit_of_rows(c.input);
    const TermErrors term = term_errors(c);
    const double relative = both(both(term.relative, both(u, u)), log_error(c));
    return rounded(p * relative + term.missing + eta, p, c.input, output);
}

double cross_entropy_bound(DType input, DType output, std::uint64_t n, const LossSizes& s) noexcept {
    const double g = gamma(input, depth(input, n) + 5);
    const double lost = static_cast<double>(n + 3) * unit_of_rows(input).eta;
    return rounded((1 + g) * s.bounds + g * s.sizes + lost, s.loss, input, output);
}
double mean_loss_bound(Method method, DType input, DType output, std::uint64_t rows, const MeanSizes& s) noexcept {
    const ErrorBound e = error_bound(method, accumulator_of(input), DType::f64, rows);
    const auto cost = [&](double size) { return (e.of_sum + e.of_abs) * size + e.absolute; };
    const double of_weights = cost(s.weights), divisor = s.weights - of_weights;
    if (!(divisor > 0)) return std::numeric_limits<double>::infinity();
    const double bound = (s.bounds + cost(s.losses + s.bounds) + s.mean * of_weights) / divisor;
    const Unit o = unit_of(output);
    return (bound + (0x1p-53 + o.u) * (s.mean + bound) + o.eta) * (1 + 0x1p-50) * margin;
}
double cross_entropy_gradient_bound(const ExpSumCase& c, DType output, const SlopeSizes& s) noexcept {
    const double g = gamma(c.input, depth(c.input, c.n) + 7), f = std::fabs(s.factor);
    const double of_p = softmax_bound(c, accumulator_of(c.input), s.p), size = s.p * s.of_softmax + s.subtracted;
    const double bound = f * ((1 + g) * of_p * s.of_softmax + g * size) + 4 * (1 + f) * unit_of_rows(c.input).eta;
    return rounded(bound, f * size, c.input, output);
}

NormErrors norm_errors(const NormSizes& s) noexcept {
    const DType v = accumulator_of(s.input);
    const auto n = static_cast<double>(s.n);
    const double square = s.m2 / n + s.epsilon;
    double mean = 0, off = 0;
    if (s.centred) {
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

} // namespace detreduce::accuracy
