#include <detreduce/accuracy/bounds.hpp>

#include <cmath>
#include <limits>

#include <detreduce/spec/tree_order.hpp>

namespace detreduce::accuracy {
namespace {

int precision_of(DType dtype) noexcept {
    switch (dtype) {
    case DType::f32:
        return fp::Format<float>::precision;
    case DType::f64:
        return fp::Format<double>::precision;
    }
    return 0; // γ_d = inf: an unknown format promises nothing
}

std::uint32_t lanes_of(DType dtype) noexcept {
    return spec::row_bytes / static_cast<std::uint32_t>(size_of(dtype));
}

} // namespace

std::uint64_t rounding_depth(Method method, DType dtype, std::uint64_t n) noexcept {
    if (n < 2) return 0;
    switch (method) {
    case Method::tree:
        return spec::tree_depth(n, lanes_of(dtype));
    case Method::atomic:
    case Method::serial:
        return n - 1;
    }
    return std::numeric_limits<std::uint64_t>::max(); // an unknown method promises nothing
}

double gamma_bound(DType dtype, std::uint64_t depth) noexcept {
    const std::uint64_t unit = std::uint64_t{1} << precision_of(dtype); // 1/u
    if (depth == 0) return 0.0;
    if (depth >= unit) return std::numeric_limits<double>::infinity();
    // d/(1/u − d): both are integers of at most 53 bits, so only the division rounds; one step up makes it a bound.
    const double nearest = static_cast<double>(depth) / static_cast<double>(unit - depth);
    return fp::from_bits<double>(fp::to_bits(nearest) + 1);
}

double error_bound(Method method, DType dtype, std::uint64_t n) noexcept {
    return gamma_bound(dtype, rounding_depth(method, dtype, n));
}

double flush_bound(Method method, DType dtype, std::uint64_t n) noexcept {
    const bool flushes = method == Method::atomic && dtype == DType::f32;
    return flushes ? std::ldexp(static_cast<double>(n), -125) : 0.0;
}

double probabilistic_bound(Method method, DType dtype, std::uint64_t n, double lambda) noexcept {
    const auto d = static_cast<double>(rounding_depth(method, dtype, n));
    const double u = 1.0 / static_cast<double>(std::uint64_t{1} << precision_of(dtype));
    return std::expm1(lambda * std::sqrt(d) * u + d * u * u / (1.0 - u));
}

} // namespace detreduce::accuracy
