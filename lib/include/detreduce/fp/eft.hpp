// Error-free transforms: a result together with the exact error of computing it. They need
// round-to-nearest without contraction or reassociation; cmake/FloatingPoint.cmake sees to that.
#pragma once

#include <detreduce/config.hpp>

namespace detreduce::fp {

/// a·b + c, rounded once.
[[nodiscard]] DETREDUCE_HD float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}
[[nodiscard]] DETREDUCE_HD double fused(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
    return __fma_rn(a, b, c);
#else
    return __builtin_fma(a, b, c);
#endif
}

/// The square root, rounded once.
[[nodiscard]] DETREDUCE_HD double square_root(double x) {
#if defined(__CUDA_ARCH__)
    return __dsqrt_rn(x);
#else
    return __builtin_sqrt(x);
#endif
}

/// value + error is the exact result, provided nothing overflowed.
template <class T>
struct Eft {
    T value;
    T error;
};

/// a + b for any a and b. Knuth, TAOCP 2, 4.2.2 (6 additions, no branch).
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr Eft<T> two_sum(T a, T b) {
    const T s = a + b;
    const T bb = s - a;
    return {s, (a - (s - bb)) + (b - bb)};
}

/// a + b where |a| >= |b| or a == 0. Dekker 1971 (3 additions).
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr Eft<T> fast_two_sum(T a, T b) {
    const T s = a + b;
    return {s, b - (s - a)};
}

/// a * b, exact when neither it nor its error over- or underflows. Fused multiply-add. T is float,
/// double, or a SIMD vector that has `fused`.
template <class T>
[[nodiscard]] DETREDUCE_HD Eft<T> two_prod(T a, T b) {
    const T p = a * b;
    return {p, fused(a, b, -p)};
}

} // namespace detreduce::fp
