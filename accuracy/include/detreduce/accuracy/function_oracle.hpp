// The true values of the functions of math.hpp, by GNU MPFR, in 50 bits more than the format has.
// Microseconds a value: for tests.
#pragma once

#include <detreduce/math/functions.hpp>

namespace detreduce::accuracy {

/// The number of T that is nearest to f(x); special values as math.hpp says. T is float or double.
template <class T>
[[nodiscard]] T nearest_value(math::Function f, T x);

/// |result − f(x)| in units of the last place that T has at f(x), in the sense of error_in_ulps
/// (metrics.hpp). An infinite result where f(x) is finite counts as the power of two after T's
/// largest number. +inf for a wrong special value, a NaN that is not canonical, or a wrong sign, of
/// zero too.
template <class T>
[[nodiscard]] double error_in_ulps(math::Function f, T x, T result);

} // namespace detreduce::accuracy
