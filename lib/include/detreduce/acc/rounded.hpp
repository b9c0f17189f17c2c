// Accumulator of the methods that keep nothing but one rounded sum: `tree`, `atomic`, `serial`. They differ in order only.
// V is float or double, or a SIMD vector of them (a lane each).
#pragma once

#include <detreduce/config.hpp>

namespace detreduce::acc {

template <class V>
struct Rounded {
    V sum;

    /// Stands for an item that is not there: −0 is the one addend that leaves the bits of every other alone.
    [[nodiscard]] static DETREDUCE_HD constexpr Rounded absent() { return {-V{}}; }

    DETREDUCE_HD constexpr void add(V x) { sum = sum + x; }
    DETREDUCE_HD constexpr void merge(const Rounded& right) { sum = sum + right.sum; }

    /// The value rounded to V; the caller makes NaN canonical.
    [[nodiscard]] DETREDUCE_HD constexpr V finish() const { return sum; }
};

} // namespace detreduce::acc
