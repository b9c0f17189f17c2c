// What layernorm merges the moments of a tile's lanes with.
#pragma once

#include <cstdint>

#include <detreduce/acc/moments.hpp>
#include <detreduce/spec/tile_counts.hpp>

namespace detreduce::cuda::row_kernels {

/// What merging takes of the numbers of elements, where they are not all the same: in each class of
/// lanes, those that have an element in a tile's last row and those that have not, the weights of
/// seven merges of rows of the last chunk, and of seven of chunks. No weight to the right: nothing
/// to merge. The same for all rows, so that the host works them out: a block has its first loads to
/// wait for.
template <class V>
struct MergeWeights {
    static constexpr int merges = 7; ///< 0 … 3: neighbours, 4 and 5: pairs, 6: the two halves
    acc::Weights<V> rows[2][merges], chunks[2][merges];

    /// Of the n elements of a row, one tile at most.
    template <std::uint32_t Lanes>
    [[nodiscard]] static MergeWeights of(std::uint32_t n) {
        const spec::TileCounts<Lanes> counts{n, 1};
        const std::uint32_t last_chunk = (n - 1) / (Lanes * spec::rows_per_chunk) * spec::rows_per_chunk;
        MergeWeights all{};
        for (int which = 0; which < 2; ++which) {
            const std::uint32_t lane =
                which == 0 ? 0 : Lanes - 1; // the first has the most elements, the last the fewest
            for (int merge = 0; merge < merges; ++merge) {
                all.rows[which][merge] = weights(counts, lane, last_chunk, 1, merge);
                all.chunks[which][merge] = weights(counts, lane, 0, spec::rows_per_chunk, merge);
            }
        }
        return all;
    }

  private:
    /// Of a merge of groups of `unit` rows, the first of which is `first`.
    template <class Counts>
    [[nodiscard]] static acc::Weights<V> weights(const Counts& counts, std::uint32_t lane, std::uint32_t first,
                                                 std::uint32_t unit, int merge) {
        const std::uint32_t step = (merge < 4 ? 1 : merge < 6 ? 2 : 4) * unit;
        const std::uint32_t begin = first + (merge < 4 ? merge : merge < 6 ? merge - 4 : 0) * 2 * step;
        const std::uint64_t left = counts.in_rows(lane, begin, begin + step),
                            right = counts.in_rows(lane, begin + step, begin + 2 * step);
        if (right == 0) return {V{0}, V{0}};
        return left == right ? acc::Weights<V>::equal(static_cast<V>(left)) : acc::Weights<V>::of(left, right);
    }
};

/// a[0 … Count − 1], merged as a binary tree of neighbours.
template <int Count, class V>
__device__ __forceinline__ acc::Moments<V> merge_weighted(acc::Moments<V> (&a)[Count],
                                                          const acc::Weights<V> (&weights)[7]) {
#pragma unroll
    for (int step = 1; step < Count; step *= 2) {
#pragma unroll
        for (int i = 0; i < Count; i += 2 * step) {
            const int merge = (8 - 8 / step) + i / (2 * step); // its place among those of eight
            const acc::Weights<V> w = weights[merge];
            if (w.right != 0) a[i].merge(a[i + step], w);
        }
    }
    return a[0];
}

} // namespace detreduce::cuda::row_kernels
