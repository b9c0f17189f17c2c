// Accumulator of `kahan` and `compensated`: a rounded sum, and beside it the sum of all that its
// roundings lost. TwoSum finds each loss exactly, whichever addend is the larger: Neumaier's form
// of Kahan's and Babuška's summation, without its branch; merged as in the Sum2 of Ogita,
// Rump & Oishi (2005). The sum never takes the error in, so infinities and NaN take the way that
// they take in `tree`. The two methods differ in the order of the rows of a chunk alone.
// V is float or double, or a SIMD vector of them (a lane each).
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/fp/eft.hpp>

namespace detreduce::acc {

template <class V, bool PairwiseRows>
struct TwoFold {
    static constexpr bool pairwise_rows = PairwiseRows, keeps_errors = true;
    static constexpr bool commutes = false; ///< not where TwoSum overflows on the way
    using Value = V;
    template <class W>
    using In = TwoFold<W, PairwiseRows>;

    V sum;
    V error;

    [[nodiscard]] static DETREDUCE_HD constexpr TwoFold identity() { return {-V{}, -V{}}; }
    [[nodiscard]] static DETREDUCE_HD constexpr TwoFold of(V x) { return {x, -V{}}; }

    DETREDUCE_HD constexpr void add(V x) {
        const auto s = fp::two_sum(sum, x);
        sum = s.value;
        error = error + s.error;
    }
    DETREDUCE_HD constexpr void merge(const TwoFold& right) {
        const auto s = fp::two_sum(sum, right.sum);
        sum = s.value;
        error = (error + right.error) + s.error;
    }

    [[nodiscard]] DETREDUCE_HD constexpr fp::Eft<double> total() const {
        return {static_cast<double>(sum), static_cast<double>(error)};
    }
};

template <class V>
using Kahan = TwoFold<V, false>;
template <class V>
using Compensated = TwoFold<V, true>;

} // namespace detreduce::acc
