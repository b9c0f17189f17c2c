#include <detreduce/accuracy/row_grad_oracle.hpp>

#include <limits>

#include "real.hpp"

namespace detreduce::accuracy {
namespace {

double off(const Real& truth, double result) {
    if (!(result - result == 0)) return std::numeric_limits<double>::infinity();
    return abs(truth - result).nearest();
}
Real scale_of(std::span<const double> scale, std::size_t i) {
    return scale.empty() ? 1 : scale[i];
}

Real number(std::span<const double> list, std::size_t i) {
    return list.empty() ? 0 : list[i];
}

/// Σ upstream·forward, with element j off by h.
Real weighed(const ForwardRow& row, std::size_t j, const Real& h) {
    const std::size_t n = row.x.size();
    const auto x = [&](std::size_t i) { return i == j ? Real(row.x[i]) + h : Real(row.x[i]); };
    Real sum;
    if (row.op == RowOp::layernorm || row.op == RowOp::rmsnorm) {
        const auto count = static_cast<double>(n);
        Real mean, squares;
        for (std::size_t i = 0; i < n && row.op == RowOp::layernorm; ++i)
            mean = mean + x(i) / count;
        for (std::size_t i = 0; i < n; ++i)
            squares = squares + (x(i) - mean) * (x(i) - mean);
        const Real rstd = 1 / square_root(squares / count + row.epsilon);
        for (std::size_t i = 0; i < n; ++i)
            sum = sum + (x(i) - mean) * rstd * scale_of(row.scale, i) * row.upstream[i];
        return sum;
    }
    Real all;
    for (std::size_t i = 0; i < n; ++i)
        all = all + exp(x(i));
    if (row.op == RowOp::logsumexp) return log(all) * row.upstream[0];
    for (std::size_t i = 0; i < n; ++i)
        sum = sum + (row.op == RowOp::softmax ? exp(x(i)) / all : x(i) - log(all)) * row.upstream[i];
    return sum;
}

} // namespace

std::vector<double> row_gradient_errors(const GradRow& row, std::span<const double> results) {
    const std::size_t n = row.x.size();
    const bool softmax = row.op == RowOp::softmax_gradient, log_softmax = row.op == RowOp::log_softmax_gradient,
               centred = row.op == RowOp::layernorm_gradient;
    const auto g = [&](std::size_t i) { return scale_of(row.scale, i) * row.upstream[i]; };
    const auto z = [&](std::size_t i) { return (Real(row.x[i]) - (centred ? row.mean : 0)) * row.rstd; };
    const auto count = static_cast<double>(n);
    Real sum, a, b;
    for (std::size_t i = 0; i < n; ++i) {
        sum = sum + Real(row.upstream[i]) * (softmax ? row.x[i] : 1);
        if (centred) a = a + g(i) / count;
        b = b + g(i) * z(i) / count;
    }
    std::vector<double> errors;
    for (std::size_t i = 0; i < n; ++i) {
        const Real slope = softmax       ? Real(row.x[i]) * (Real(row.upstream[i]) - sum)
                           : log_softmax ? Real(row.upstream[i]) - exp(row.x[i]) * sum
                                         : (g(i) - a - z(i) * b) * row.rstd;
        errors.push_back(off(slope, results[i]));
    }
    return errors;
}

double scale_gradient_error(const GradColumn& c, double result) {
    Real sum;
    for (std::size_t i = 0; i < c.x.size(); ++i)
        sum = sum + (Real(c.x[i]) - number(c.mean, i)) * c.rstd[i] * c.upstream[i];
    return off(sum, result);
}

double row_difference_error(const ForwardRow& row, std::size_t j, double result) {
    Real h(1);
    mpfr_mul_2si(h.value, h.value, -150, MPFR_RNDN);
    return off((weighed(row, j, h) - weighed(row, j, 0 - h)) / (2 * h), result);
}

} // namespace detreduce::accuracy
