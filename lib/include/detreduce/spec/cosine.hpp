// Cosine similarity of rows, of their dot product and their norms, for host and device alike
// (lib/SPEC.md, section 17.8). All is computed in binary64.
#pragma once

#include <cstdint>

#include <detreduce/spec/numbers.hpp>

namespace detreduce::spec {

/// Of one row x and its y.
struct Cosine {
    double dot, x_norm, y_norm, epsilon;

    [[nodiscard]] static DETREDUCE_HD double at_least(double norm, double epsilon) {
        return norm < epsilon ? epsilon : norm;
    }
    [[nodiscard]] DETREDUCE_HD double quotient(double of) const {
        return (of / at_least(x_norm, epsilon)) / at_least(y_norm, epsilon);
    }
    [[nodiscard]] DETREDUCE_HD double value() const {
        const double v = quotient(dot);
        return v > 1 ? 1.0 : v < -1 ? -1.0 : v;
    }
    /// What y and x are multiplied by in the derivative with respect to x.
    [[nodiscard]] DETREDUCE_HD double of_y() const { return quotient(1); }
    [[nodiscard]] DETREDUCE_HD double of_x() const {
        return x_norm < epsilon ? 0.0 : (quotient(dot) / x_norm) / x_norm;
    }
};

/// The sums of all rows, `pitch` numbers apart: dot products, norms of x, norms of y.
struct CosineSums {
    const double* dots;
    std::uint64_t pitch;
    double epsilon;
    [[nodiscard]] DETREDUCE_HD Cosine of(std::uint64_t row) const {
        return {dots[row], dots[pitch + row], dots[2 * pitch + row], epsilon};
    }
};

/// The results, a row at a time.
struct CosineValues {
    CosineSums sums;
    void* out;
    DType output;

    DETREDUCE_HD void operator()(std::uint64_t row) const { put_number(out, output, row, sums.of(row).value()); }
};

/// What the gradient of a row needs, in the place of its sums: what y and x are multiplied by, and
/// what comes from upstream.
struct CosineFactors {
    CosineSums sums;
    double* factors;
    const void* upstream;
    DType dtype;

    DETREDUCE_HD void operator()(std::uint64_t row) const {
        const Cosine c = sums.of(row);
        factors[row] = c.of_y();
        factors[sums.pitch + row] = c.of_x();
        factors[2 * sums.pitch + row] = upstream == nullptr ? 1.0 : number_at(upstream, dtype, row);
    }
};

/// The gradient with respect to x, an element at a time.
struct CosineSlopes {
    const double* factors;
    std::uint64_t pitch;
    const void *x, *y;
    void* dx;
    DType dtype;
    std::uint64_t n, stride;

    DETREDUCE_HD void operator()(std::uint64_t i) const {
        const std::uint64_t row = i / n, at = row * stride + i % n;
        const double of_x = -(number_at(x, dtype, at) * factors[pitch + row]);
        put_number(dx, dtype, at, fp::fused(number_at(y, dtype, at), factors[row], of_x) * factors[2 * pitch + row]);
    }
};

} // namespace detreduce::spec
