// The rows of a lane of elements, for mean and variance by `tree`: a binary tree of groups whose
// sizes are known, so that merging them takes no division.
#pragma once

#include <detreduce/acc/moments.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "sequence/tile.cuh"

namespace detreduce::cuda::moment_kernels {

/// Merges neighbours of a[0 … Count − 1] as a binary tree, each of `each` elements.
template <int Count, class V>
__device__ __forceinline__ acc::Moments<V> merge_equal(acc::Moments<V> (&a)[Count], V each) {
    each_neighbours<Count>(
        [&](int i, int step) { a[i].merge(a[i + step], acc::Weights<V>::equal(each * static_cast<V>(step))); });
    return a[0];
}

/// Merges neighbours of Step rows each, as far as the first `there` go, which are at least
/// `Minimum`.
template <int Step, int Minimum, int Rows, class V>
__device__ __forceinline__ void merge_first(acc::Moments<V> (&row)[Rows], int there) {
    using Weights = acc::Weights<V>;
    constexpr Weights one = Weights::of(Step, 1), two = Weights::of(Step, 2), three = Weights::of(Step, 3),
                      all = Weights::equal(V(Step));
#pragma unroll
    for (int r = 0; r < Rows; r += 2 * Step) {
        if (r + 2 * Step <= Minimum) {
            row[r].merge(row[r + Step], all);
            continue;
        }
        const int right = there - r - Step; // or more than there are
        const auto of_right = [right](V of_one, V of_two, V of_three, V of_all) {
            if constexpr (Step == 1) return of_all;
            if constexpr (Step == 2) return right > 1 ? of_all : of_one;
            return right > 3 ? of_all : right == 1 ? of_one : right == 2 ? of_two : of_three;
        };
        const Weights weights{of_right(one.right, two.right, three.right, all.right),
                              of_right(one.cross, two.cross, three.cross, all.cross)};
        if (right > 0) row[r].merge(row[r + Step], weights);
    }
}

/// The first `there` of a lane's rows, each an element, which are at least `Minimum`.
template <int Minimum = 0, int Rows, class V>
__device__ __forceinline__ acc::Moments<V> fold_first(acc::Moments<V> (&row)[Rows], int there) {
    static_assert(Rows == 4 || Rows == 8);
    if constexpr (Minimum >= Rows) return merge_equal(row, V(1));
    merge_first<1, Minimum>(row, there);
    merge_first<2, Minimum>(row, there);
    if constexpr (Rows > 4) merge_first<4, Minimum>(row, there);
    return row[0];
}

} // namespace detreduce::cuda::moment_kernels
