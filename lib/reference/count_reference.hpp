// lib/SPEC.md, section 13, evaluated naively: elements are compared as numbers, one after the
// other. For the tests, as spec_reference.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <detreduce/types.hpp>

#include "long_sum.hpp"

namespace detreduce::reference {

template <class T>
std::uint64_t count(Op op, std::span<const T> x) {
    std::vector<double> numbers;
    std::uint64_t nonzeros = 0;
    bool nan = false;
    for (const T v : x) {
        const double value = value_of(v);
        nonzeros += value != 0; // NaN is not equal to zero, nor to anything else
        if (std::isnan(value)) {
            nan = true;
        } else {
            numbers.push_back(value);
        }
    }
    if (op == Op::count_nonzero) return nonzeros;
    std::sort(numbers.begin(), numbers.end());
    const auto different = std::unique(numbers.begin(), numbers.end()) - numbers.begin(); // −0 and +0 are equal
    return static_cast<std::uint64_t>(different) + (nan ? 1 : 0);
}

} // namespace detreduce::reference
