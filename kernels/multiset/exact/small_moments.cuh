// Mean and variance by `exact` of short flat inputs: small_kernel for the elements and once more
// for their squares, and one block that makes the result of both.
#pragma once

#include "multiset/exact/small_join.cuh"

namespace detreduce::cuda::exact {

/// What small_kernel has left of one map.
struct SmallLeft {
    Word* parts;
    Word* slots;
};

template <class S>
__device__ __forceinline__ void join_moment(const SmallLeft& left, int blocks, Word* words) {
    const SmallParts<S> parts{left.parts, blocks};
    __shared__ SmallJoin<S> join;
    __shared__ int highest[small_warps], tops[policy::most_exact_small_blocks];
    for (int b = threadIdx.x; b < blocks; b += small_threads)
        tops[b] = static_cast<int>(parts.top(b));
    __syncthreads();
    join_into_words(parts, left.slots, join, tops, highest, words);
    __syncthreads();
}

template <class SumShape, class SquareShape>
__global__ void __launch_bounds__(small_threads) join_moments_kernel(const SmallLeft sums, const SmallLeft squares,
                                                                     int blocks, std::uint64_t n, const Finish finish) {
    constexpr int count = SumShape::words + SquareShape::words;
    __shared__ Word words[count];
    for (int i = threadIdx.x; i < count; i += small_threads)
        words[i] = i == acc::exact::elements ? static_cast<Word>(n) : 0;
    wait_for_previous_kernel();
    __syncthreads();
    join_moment<SumShape>(sums, blocks, words);
    join_moment<SquareShape>(squares, blocks, words + SumShape::words);
    round_words<1 + SquareShape::states>(words, finish);
}

} // namespace detreduce::cuda::exact
