// Mean and variance by `exact`, of groups whose states of Σx and Σx² are in memory.
#include <cuda_runtime.h>

#include <algorithm>

#include "platform/launch_kernel.hpp"
#include "moments/exact_finish.cuh"

namespace detreduce::cuda {
namespace moment_kernels {

/// Word k of a group: the sum of its slots'.
__device__ __forceinline__ Word sum_of_slots(const Word* states, std::uint32_t step, const GroupCut& cut, int k) {
    Word sum = 0;
#pragma unroll 8
    for (std::uint64_t s = 0; s < cut.slots; ++s)
        sum += load_from_l2(states + (cut.first + s) * step + k);
    return sum;
}

inline constexpr int finish_threads = 320; // one a word, of doubles as well
static_assert(finish_threads >= most_moment_words);

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
        finish_words(own, valid, result.moved(i));
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
