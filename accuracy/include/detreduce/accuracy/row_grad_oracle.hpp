// The true gradients of row ops that take what comes from upstream, by GNU MPFR, as row_oracle.hpp.
// For tests.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <detreduce/accuracy/row_bounds.hpp>

namespace detreduce::accuracy {

/// |result − the true value of the formula|, with the x, mean and rstd that there are; +∞ for a
/// result that is none.
[[nodiscard]] std::vector<double> row_gradient_errors(const GradRow& row, std::span<const double> results);

/// |result − Σ upstream·(x − mean)·rstd|, or, of rmsnorm, Σ upstream·x·rstd.
[[nodiscard]] double scale_gradient_error(const GradColumn& column, double result);

/// A row as it went into forward: of softmax, log_softmax, logsumexp, whose upstream is one number,
/// layernorm or rmsnorm.
struct ForwardRow {
    RowOp op;
    std::span<const double> x, upstream, scale = {};
    double epsilon = 0;
};
/// |result − the derivative of Σ upstream·forward with respect to element j|, from central
/// differences, so that a wrong formula is seen.
[[nodiscard]] double row_difference_error(const ForwardRow& row, std::size_t j, double result);

} // namespace detreduce::accuracy
