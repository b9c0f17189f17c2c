// The end of mean and variance by `exact`, from the words of Σx and Σx² in shared memory: digits are joined by a block, and worked out by one thread, which only
// looks at those that are not all zero.
#pragma once

#include "exact/words.cuh"
#include "moments/exact.hpp"

namespace detreduce::cuda::moment_kernels {

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
struct FinishRoom {
    Word words[(1 + SquareStates) * acc::exact::words];
    Joined<1> sum;
    Joined<SquareStates> squares;
    acc::exact::VarianceRoom room;
};

/// By one thread: it is much code, once a group.
template <int SquareStates>
__device__ __noinline__ void finish_group(FinishRoom<SquareStates>& own, bool valid, acc::MomentsResult result) {
    const auto none = [](auto t) { return fp::from_bits<decltype(t)>(fp::Format<decltype(t)>::canonical_nan); };
    result.n = static_cast<std::uint64_t>(own.words[acc::exact::elements]);
    if (!valid) return result.store(none, none);
    const acc::exact::Long of_sum{own.sum.digit, exact::LongOf<1>::lowest, own.words},
        of_squares{own.squares.digit, exact::LongOf<SquareStates>::lowest, own.words};
    const acc::exact::DigitRange used = own.sum.used();
    const bool defined = !acc::exact::has_special(own.words) && result.ddof < result.n;
    acc::exact::Leading variance{};
    if (defined) {
        variance = acc::exact::variance(of_sum, used, of_squares, own.squares.used(), result.n, result.ddof,
                                        result.op == Op::stddev, own.room);
    }
    acc::exact::Finished mean{};
    if (result.op == Op::moments)
        mean = acc::exact::finished(of_sum, used.first, used.last, Finalize::mean, own.room.sum);
    result.store([&](auto t) { return mean.as<decltype(t)>(); },
                 [&](auto t) { return defined ? acc::exact::rounded<decltype(t)>(variance) : none(t); });
}

/// Once own.words are there, by a block, all of whose threads call this; the room may be used again after a barrier.
template <int SquareStates>
__device__ __forceinline__ void finish_words(FinishRoom<SquareStates>& own, bool valid,
                                             const acc::MomentsResult& result) {
    if (threadIdx.x == 0) {
        own.sum.range = {exact::LongOf<1>::digits, 0};
        own.squares.range = {exact::LongOf<SquareStates>::digits, 0};
    }
    __syncthreads();
    own.sum.take(own.words);
    own.squares.take(own.words + acc::exact::words);
    __syncthreads();
    if (threadIdx.x == 0) finish_group(own, valid, result);
}

} // namespace detreduce::cuda::moment_kernels
