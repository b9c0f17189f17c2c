// Mean and variance by `exact`, from the states of Σx and Σx²: digits are joined by a block, and worked out by one thread, which only looks at those that
// are not all zero.
#include <cuda_runtime.h>

#include <algorithm>

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

/// Word k of a group: the sum of its slots'.
__device__ __forceinline__ Word sum_of_slots(const Word* states, std::uint32_t step, const GroupCut& cut, int k) {
    Word sum = 0;
#pragma unroll 8
    for (std::uint64_t s = 0; s < cut.slots; ++s)
        sum += __ldcg(states + (cut.first + s) * step + k);
    return sum;
}

inline constexpr int finish_threads = 320; // one a word, of doubles as well
static_assert(finish_threads >= most_moment_words);

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
    result.store(
        [&](auto t) {
            return acc::exact::finish<decltype(t)>(of_sum, used.first, used.last, Ending::mean, own.room.sum);
        },
        [&](auto t) { return defined ? acc::exact::rounded<decltype(t)>(variance) : none(t); });
}

template <int SquareStates>
__global__ void __launch_bounds__(finish_threads) finish_kernel(const MomentStates states, const GroupCut* cuts,
                                                                std::uint64_t count, const acc::MomentsResult result) {
    constexpr int words = acc::exact::words;
    __shared__ FinishRoom<SquareStates> own;
    for (std::uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
        GroupCut cut{i, 1};
        if (cuts != nullptr) cut = cuts[i];
        const bool valid = cut.slots != GroupCut::invalid;
        if (!valid) cut.slots = 0;
        for (int k = threadIdx.x; k < (1 + SquareStates) * words; k += blockDim.x) {
            own.words[k] = k < words ? sum_of_slots(states.sum, states.sum_step, cut, k)
                                     : sum_of_slots(states.squares, states.square_step, cut, k - words);
        }
        if (threadIdx.x == 0) {
            own.sum.range = {exact::LongOf<1>::digits, 0};
            own.squares.range = {exact::LongOf<SquareStates>::digits, 0};
        }
        __syncthreads();
        own.sum.take(own.words);
        own.squares.take(own.words + words);
        __syncthreads();
        if (threadIdx.x == 0) finish_group(own, valid, result.moved(i));
        __syncthreads(); // the room is used again
    }
}

} // namespace moment_kernels

Status launch_moments_finish(const MomentStates& states, std::uint64_t count, const acc::MomentsResult& result,
                             Stream stream, const DeviceTraits& device, const GroupCut* cuts) {
    const auto kernel = states.of_doubles ? moment_kernels::finish_kernel<acc::exact::product_states>
                                          : moment_kernels::finish_kernel<1>;
    const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 16ull * device.sms));
    return launch_kernel(LaunchKind::plain, kernel, blocks, moment_kernels::finish_threads, 0, stream, states, cuts,
                         count, result);
}

} // namespace detreduce::cuda
