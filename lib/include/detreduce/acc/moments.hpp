// Accumulator of mean and variance by `tree` and `serial` (lib/SPEC.md, section 12): the mean of a
// group of elements, and M2, the sum of the squares of their distances from it. Groups are merged
// by the formula of Chan, Golub & LeVeque (1983), which never subtracts large squares from each
// other, so that a large mean costs no digits of a small variance.
//
// The number of elements is no part of it: where groups are all full it is a power of two that is
// known beforehand, and then merging takes no division; where they are not, the number follows from
// where a group lies (spec/tile_counts.hpp).
// V is float or double, or a SIMD vector of them (a lane each).
#pragma once

#include <cstdint>

#include <detreduce/acc/finish.hpp>
#include <detreduce/config.hpp>
#include <detreduce/fp/eft.hpp>
#include <detreduce/types.hpp>

namespace detreduce::acc {

/// What merging needs to know of the numbers of elements, n₁ to the left and n₂ to the right.
template <class V>
struct Weights {
    V right; ///< n₂ / (n₁ + n₂)
    V cross; ///< n₁·n₂ / (n₁ + n₂)

    template <class Count>
    [[nodiscard]] static DETREDUCE_HD constexpr Weights of(Count left, Count right) {
        const V share = static_cast<V>(right) / static_cast<V>(left + right);
        return {share, static_cast<V>(left) * share};
    }
    /// The same bits where both are `count`: the quotient is 1/2 then, also where `count` was
    /// rounded.
    [[nodiscard]] static DETREDUCE_HD constexpr Weights equal(V count) { return {V(0.5), count * V(0.5)}; }
};

template <class V>
struct Moments {
    static constexpr bool pairwise_rows = true, keeps_errors = false, commutes = false;
    using Value = V;

    V mean;
    V m2;

    [[nodiscard]] static DETREDUCE_HD constexpr Moments identity() { return {}; } ///< is never looked at
    [[nodiscard]] static DETREDUCE_HD constexpr Moments of(V x) { return {x, V{}}; }

    /// A difference of zero leaves the mean as it is: of equal elements the mean is exact, and M2
    /// is zero.
    template <class W>
    DETREDUCE_HD void merge(const Moments& right, const W& weights) {
        using fp::fused;
        const V d = right.mean - mean;
        mean = fused(d, weights.right, mean);
        m2 = fused(d * d, weights.cross, m2 + right.m2);
    }
};

/// With the number of elements beside it, for where it does not follow from where a group lies, or
/// speed does not count. None: absent.
template <class V>
struct CountedMoments {
    static constexpr bool pairwise_rows = true, keeps_errors = false, commutes = false;
    using Value = V;

    std::uint64_t count;
    Moments<V> m;

    [[nodiscard]] static DETREDUCE_HD constexpr CountedMoments identity() { return {0, {}}; }
    [[nodiscard]] static DETREDUCE_HD constexpr CountedMoments of(V x) { return {1, Moments<V>::of(x)}; }

    DETREDUCE_HD void merge(const CountedMoments& right) {
        if (right.count == 0) return;
        if (count == 0) {
            *this = right;
            return;
        }
        const V left = static_cast<V>(count); // where both are as many, the same bits without a division
        m.merge(right.m, count == right.count ? Weights<V>::equal(left) : Weights<V>::of(count, right.count));
        count += right.count;
    }
};

template <class Acc>
inline constexpr bool is_moments = false;
template <class V>
inline constexpr bool is_moments<CountedMoments<V>> = true;

/// M2 / divisor, or its square root, to be rounded once. A mean that is no number, as infinities
/// and NaN make it, has no variance.
[[nodiscard]] DETREDUCE_HD Finished finished_variance(double mean, double m2, std::uint64_t divisor, bool root) {
    if (!fp::is_finite(mean)) m2 = fp::from_bits<double>(fp::Format<double>::canonical_nan);
    if (!root) return finished({m2, 0.0}, Finalize::mean, divisor);
    const auto count = static_cast<double>(divisor);
    const double q = m2 / count;
    return finished({q, fp::fused(-q, count, m2) / count}, Finalize::root, 1);
}

/// Where the results of one group go, and which they are.
struct MomentsResult {
    void* out;
    DType output;
    std::uint32_t bytes; ///< of one result
    Op op;
    std::uint64_t n, ddof;

    /// That of the group `by` groups further.
    [[nodiscard]] DETREDUCE_HD MomentsResult moved(std::uint64_t by) const {
        MomentsResult to = *this;
        to.out = static_cast<char*>(out) + by * bytes * (op == Op::moments ? 2 : 1);
        return to;
    }
    /// mean(T{}) and variance(T{}) are the two, rounded to T; they are asked only where there are
    /// as many elements as that takes.
    template <class Mean, class Variance>
    DETREDUCE_HD void store(const Mean& mean, const Variance& variance) const {
        const bool both = op == Op::moments;
        const auto or_nan = [](bool there, const auto& value) {
            return [=, &value](auto t) {
                using T = decltype(t);
                return there ? value(t) : fp::from_bits<T>(fp::Format<T>::canonical_nan);
            };
        };
        if (both) store_as(out, output, or_nan(n > 0, mean));
        store_as(both ? static_cast<char*>(out) + bytes : out, output, or_nan(n > ddof, variance));
    }
    /// No number where there are as few elements as ddof.
    template <class V>
    [[nodiscard]] DETREDUCE_HD Finished variance(const Moments<V>& m) const {
        return finished_variance(static_cast<double>(m.mean), static_cast<double>(m.m2), n - ddof, op == Op::stddev);
    }
    template <class V>
    DETREDUCE_HD void store(const Moments<V>& m) const {
        const Finished of_group = variance(m);
        store([&](auto t) { return fp::round_to<decltype(t)>(static_cast<double>(m.mean)); },
              [&](auto t) { return of_group.as<decltype(t)>(); });
    }
};

} // namespace detreduce::acc
