// Elements as groups of one, for the kernels of sums: mean and variance by `tree` of columns and
// segments.
#pragma once

#include <detreduce/acc/moments.hpp>

#include "sequence/moments/tile.cuh"

namespace detreduce::cuda {

/// No element changes nothing where it is merged, so none can stand for one that is not there: a
/// lane is told how many rows it has.
template <class T>
struct MomentLevel {
    using Item = T;
    using V = fp::Arithmetic<T>;
    using Items = ItemOf<T, 1, fp::is_narrow<T> ? Alignment::never : Alignment::seen>;
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
    static __device__ __forceinline__ Acc of_nothing() { return Acc::identity(); }
    static __device__ __forceinline__ Item identity() { return {}; } ///< is not looked at

    /// The first `there` rows of a lane.
    static __device__ __forceinline__ Acc fold(const Item (&items)[rows], int there) {
        acc::Moments<V> row[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r)
            row[r] = acc::Moments<V>::of(widen(items[r]));
        const auto folded = moment_kernels::fold_first(row, there);
        return {static_cast<std::uint64_t>(there < rows ? there : rows), folded};
    }
};

} // namespace detreduce::cuda
