// Mean and variance by `exact` of short flat inputs: small_kernel for the elements and once more for their squares, and one block that makes the result of both.
#pragma once

#include "exact/small_join.cuh"
#include "moments/exact_finish.cuh"

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
    __shared__ int highest[small_warps], tops[most_exact_small_blocks];
    for (int b = threadIdx.x; b < blocks; b += small_threads)
        tops[b] = static_cast<int>(parts.top(b));
    __syncthreads();
    join_into_words(parts, left.slots, join, tops, highest, words);
    __syncthreads();
}

template <class SumShape, class SquareShape>
__global__ void __launch_bounds__(small_threads)
    join_moments_kernel(const SmallLeft sums, const SmallLeft squares, int blocks, const acc::MomentsResult result) {
    constexpr int words = SumShape::words + SquareShape::words;
    __shared__ moment_kernels::FinishRoom<SquareShape::states> own;
    for (int i = threadIdx.x; i < words; i += small_threads)
        own.words[i] = i == SumShape::counters + acc::exact::elements ? static_cast<Word>(result.n) : 0;
    wait_for_previous_kernel();
    __syncthreads();
    join_moment<SumShape>(sums, blocks, own.words);
    join_moment<SquareShape>(squares, blocks, own.words + SumShape::words);
    moment_kernels::finish_words(own, true, result);
}

} // namespace detreduce::cuda::exact
