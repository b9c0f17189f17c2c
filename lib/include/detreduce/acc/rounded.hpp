// Accumulator of the methods that keep nothing but one rounded sum: `tree`, `atomic`, `serial`.
// They differ in order only. V is float or double, or a SIMD vector of them (a lane each).
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/fp/eft.hpp>

namespace detreduce::acc {

template <class V>
struct Rounded {
    static constexpr bool pairwise_rows = false, keeps_errors = false;
    static constexpr bool commutes = true; ///< merging two in either order gives the same bits, but for those of NaN
    using Value = V;
    template <class W>
    using In = Rounded<W>; ///< the same in another format, or in registers of it

    V sum;

    /// Stands for an item that is not there: −0 is the one addend that leaves the bits of every
    /// other alone.
    [[nodiscard]] static DETREDUCE_HD constexpr Rounded identity() { return {-V{}}; }
    [[nodiscard]] static DETREDUCE_HD constexpr Rounded of(V x) { return {x}; }

    DETREDUCE_HD constexpr void add(V x) { sum = sum + x; }
    DETREDUCE_HD constexpr void merge(const Rounded& right) { sum = sum + right.sum; }

    [[nodiscard]] DETREDUCE_HD constexpr fp::Eft<double> total() const { return {static_cast<double>(sum), 0.0}; }
};

} // namespace detreduce::acc
