// Mean and variance by `exact`, from the states of Σx and Σx²: digits are joined by a block, and worked out by one thread, which only looks at those that
// are not all zero.
#include <cuda_runtime.h>

#include "exact/words.cuh"
#include "launch_kernel.hpp"
#include "moments/exact.hpp"

namespace detreduce::cuda {
namespace moment_kernels {

using acc::exact::Word;

/// The digits of States states in shared memory.
template <int States>
struct Joined {
    using L = exact::LongOf<States>;
    Word digit[L::digits];
    acc::exact::DigitRange range;

    /// All threads of the block call this, and wait for each other afterwards. `range` must be {digits, 0}.
    __device__ __forceinline__ void take(const Word* states) {
        for (int k = threadIdx.x; k < L::digits; k += blockDim.x) {
            digit[k] = L::digit(states, k);
            if (digit[k] == 0) continue;
            atomicMin(&range.first, k);
            atomicMax(&range.last, k + 1);
        }
    }
    [[nodiscard]] __device__ __forceinline__ acc::exact::DigitRange used() const {
        return range.first < range.last ? range : acc::exact::DigitRange{0, 0};
    }
};

template <int SquareStates>
__global__ void finish_kernel(const Word* states, const acc::MomentsResult result) {
    constexpr int count = (1 + SquareStates) * acc::exact::words;
    __shared__ Word words[count];
    __shared__ Joined<1> sum;
    __shared__ Joined<SquareStates> squares;
    __shared__ acc::exact::VarianceRoom room;
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        words[k] = __ldcg(states + k);
    if (threadIdx.x == 0) {
        sum.range = {exact::LongOf<1>::digits, 0};
        squares.range = {exact::LongOf<SquareStates>::digits, 0};
    }
    __syncthreads();
    sum.take(words);
    squares.take(words + acc::exact::words);
    __syncthreads();
    if (threadIdx.x != 0) return;
    const acc::exact::Long of_sum{sum.digit, exact::LongOf<1>::lowest, words},
        of_squares{squares.digit, exact::LongOf<SquareStates>::lowest, words};
    const bool special = acc::exact::has_special(words);
    const acc::exact::Leading variance = acc::exact::variance(of_sum, sum.used(), of_squares, squares.used(), result.n,
                                                              result.ddof, result.op == Op::stddev, room);
    const acc::exact::DigitRange used = sum.used();
    result.store(
        [&](auto t) { return acc::exact::finish<decltype(t)>(of_sum, used.first, used.last, Ending::mean, room.sum); },
        [&](auto t) {
            using Out = decltype(t);
            return special ? fp::from_bits<Out>(fp::Format<Out>::canonical_nan) : acc::exact::rounded<Out>(variance);
        });
}

} // namespace moment_kernels

Status launch_moments_finish(const acc::exact::Word* states, bool of_doubles, const acc::MomentsResult& result,
                             Stream stream) {
    const auto kernel =
        of_doubles ? moment_kernels::finish_kernel<acc::exact::product_states> : moment_kernels::finish_kernel<1>;
    return launch_kernel(LaunchKind::plain, kernel, 1, state_block_threads, 0, stream, states, result);
}

} // namespace detreduce::cuda
