// Cosine similarity of rows, of their dot product and their norms, for host and device alike
// (lib/SPEC.md, section 17.8). All is computed in binary64.
#pragma once

#include <cstdint>

#include <detreduce/acc/finish.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::spec {

/// Element i of an array of `dtype`, of 16 bits or more.
[[nodiscard]] DETREDUCE_HD double number_at(const void* p, DType dtype, std::uint64_t i) {
    switch (dtype) {
    case DType::f16:
        return static_cast<double>(fp::widen(static_cast<const float16*>(p)[i]));
    case DType::bf16:
        return static_cast<double>(fp::widen(static_cast<const bfloat16*>(p)[i]));
    case DType::f32:
        return static_cast<double>(static_cast<const float*>(p)[i]);
    default:
        return static_cast<const double*>(p)[i];
    }
}

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

    DETREDUCE_HD void operator()(std::uint64_t row) const {
        const double value = sums.of(row).value();
        const std::uint64_t size = output == DType::f64 ? 8 : output == DType::f32 ? 4 : 2;
        acc::store_as(static_cast<char*>(out) + row * size, output,
                      [&](auto t) { return fp::round_to<decltype(t)>(value); });
    }
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
        const double value = fp::fused(number_at(y, dtype, at), factors[row], of_x) * factors[2 * pitch + row];
        const std::uint64_t size = dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2;
        acc::store_as(static_cast<char*>(dx) + at * size, dtype,
                      [&](auto t) { return fp::round_to<decltype(t)>(value); });
    }
};

} // namespace detreduce::spec
