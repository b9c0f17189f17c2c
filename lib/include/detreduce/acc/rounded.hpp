// Accumulator of the methods that keep nothing but one rounded sum: `tree`, `atomic`, `serial`. They differ in order only.
// V is float or double, or a SIMD vector of them (a lane each).
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::acc {

template <class V>
struct Rounded {
    static constexpr bool pairwise_rows = false;
    using Value = V;

    V sum;

    /// Stands for an item that is not there: −0 is the one addend that leaves the bits of every other alone.
    [[nodiscard]] static DETREDUCE_HD constexpr Rounded absent() { return {-V{}}; }
    [[nodiscard]] static DETREDUCE_HD constexpr Rounded of(V x) { return {x}; }

    DETREDUCE_HD constexpr void add(V x) { sum = sum + x; }
    DETREDUCE_HD constexpr void merge(const Rounded& right) { sum = sum + right.sum; }

    /// The sum, rounded to T if that is narrower; NaN made canonical.
    template <class T>
    [[nodiscard]] DETREDUCE_HD constexpr T finish() const {
        return fp::round_to<T>(sum);
    }
};

} // namespace detreduce::acc
