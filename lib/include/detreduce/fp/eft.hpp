// Error-free transforms: a result together with the exact error of computing it.
// They need round-to-nearest without contraction or reassociation; cmake/FloatingPoint.cmake sees to that.
#pragma once

#include <cmath>

#include <detreduce/config.hpp>

namespace detreduce::fp {

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

/// a * b, exact when the error does not underflow. Fused multiply-add.
template <class T>
[[nodiscard]] DETREDUCE_HD Eft<T> two_prod(T a, T b) {
    const T p = a * b;
    return {p, std::fma(a, b, -p)};
}

} // namespace detreduce::fp
