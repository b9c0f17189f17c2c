// Elements as groups of one, for the kernels of sums: mean and variance by `tree` of columns and segments.
#pragma once

#include <detreduce/acc/moments.hpp>

#include "moments/tile.cuh"

namespace detreduce::cuda {

/// No element changes nothing where it is merged, so none can stand for one that is not there: a lane is told how many rows it has.
template <class T>
struct MomentLevel {
    using Item = T;
    using V = fp::Arithmetic<T>;
    using Items = ItemOf<T, 1, sizeof(T) == 2 ? Alignment::never : Alignment::seen>;
    using Pointer = typename Items::Pointer;
    using Acc = acc::CountedMoments<V>;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = true, folds_rows = true;
    static constexpr int rows = spec::rows_per_chunk;
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& x) {
        return Acc::of(widen(x));
    }
    static __device__ __forceinline__ Acc of_nothing() { return Acc::absent(); }
    static __device__ __forceinline__ Item absent() { return {}; } ///< is not looked at

    /// The first `there` rows of a lane, as a binary tree. No division: the numbers of elements are below eight.
    static __device__ __forceinline__ Acc fold(const Item (&items)[rows], int there) {
        acc::Moments<V> row[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r)
            row[r] = acc::Moments<V>::of(widen(items[r]));
        if (there >= rows) return {rows, moment_kernels::merge_equal(row, V(1))};
        merge_first<1>(row, there);
        merge_first<2>(row, there);
        merge_first<4>(row, there);
        return {static_cast<std::uint64_t>(there), row[0]};
    }

  private:
    /// Merges neighbours of Step rows each, as far as the first `there` go.
    template <int Step>
    static __device__ __forceinline__ void merge_first(acc::Moments<V> (&row)[rows], int there) {
        using Weights = acc::Weights<V>;
        constexpr Weights one = Weights::of(Step, 1), two = Weights::of(Step, 2), three = Weights::of(Step, 3),
                          all = Weights::equal(V(Step));
#pragma unroll
        for (int r = 0; r < rows; r += 2 * Step) {
            const int right = there - r - Step; // or more than there are
            const auto of_right = [right](V of_one, V of_two, V of_three, V of_all) {
                return right >= Step ? of_all : right == 1 ? of_one : right == 2 ? of_two : of_three;
            };
            const Weights weights{of_right(one.right, two.right, three.right, all.right),
                                  of_right(one.cross, two.cross, three.cross, all.cross)};
            if (right > 0) row[r].merge(row[r + Step], weights);
        }
    }
};

} // namespace detreduce::cuda
