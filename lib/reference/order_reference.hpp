// lib/SPEC.md, section 9, evaluated naively: one element after the other, compared as numbers. For
// the tests, as spec_reference.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <detreduce/types.hpp>

#include "long_sum.hpp"

namespace detreduce::reference {

/// Is a before b in the order of section 9? Neither is NaN.
inline bool is_before(double a, double b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}

/// The index that `op` finds among the magnitudes or elements of x, which are not empty.
template <class T>
std::size_t found_by(Op op, std::span<const T> x, NanPolicy nan) {
    std::optional<std::size_t> best, first_nan;
    double best_value = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double value = op == Op::nrminf ? std::fabs(value_of(x[i])) : value_of(x[i]);
        const bool minimum = op == Op::min || op == Op::argmin;
        if (std::isnan(value)) {
            if (!first_nan) first_nan = i;
        } else if (!best || (minimum ? is_before(value, best_value) : is_before(best_value, value))) {
            best = i;
            best_value = value;
        }
    }
    if (!best || (first_nan && nan == NanPolicy::propagate)) return *first_nan;
    return *best;
}

template <class Out, class T>
Out order(Op op, std::span<const T> x, NanPolicy nan) {
    if (x.empty()) return converted<Out>(0.0); // nrminf
    const double value = value_of(x[found_by(op, x, nan)]);
    return converted<Out>(op == Op::nrminf ? std::fabs(value) : value);
}

} // namespace detreduce::reference
