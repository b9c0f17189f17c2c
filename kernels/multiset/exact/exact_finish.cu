// What happens to a state on the device besides adding elements to it.
#include "cuda_backend.hpp"
#include "multiset/exact/launch.cuh"

namespace detreduce::cuda {
namespace exact {
namespace {

/// acc::exact::is_beyond() by a block. Every thread has the answer.
__device__ bool is_beyond(const Word* words) {
    const int k = static_cast<int>(threadIdx.x);
    if (__syncthreads_or(k < acc::exact::words && !acc::exact::word_fits(words[k], k)) != 0) return true;
    return __syncthreads_or(k == 0 && !acc::exact::sum_fits(words)) != 0;
}

/// A caller's state, to which `term` is added, if there is one, unless either or the sum is beyond
/// the headroom. It is rounded, or else left in its one form: as ExactState does.
struct CallersState {
    static constexpr int threads = state_block_threads;
    Word* state;
    const Word* term;
    bool rounds;

    [[nodiscard]] __device__ __forceinline__ std::uint64_t results() const { return 1; }
    __device__ __forceinline__ bool load(std::uint64_t, Word* own, std::uint64_t&) const {
        __shared__ Word other[acc::exact::words];
        const int k = static_cast<int>(threadIdx.x);
        if (k < acc::exact::words) {
            own[k] = state[k];
            other[k] = term != nullptr ? term[k] : 0;
        }
        __syncthreads();
        bool beyond = is_beyond(own) || is_beyond(other);
        if (term != nullptr && !beyond) {
            // Carries go first: limbs of both may be as large as one more addition allows.
            Word sum = 1;
            if (k < acc::exact::limbs) {
                sum = carried(own, k) + carried(other, k);
            } else if (k < acc::exact::weight) {
                sum = static_cast<Word>(static_cast<std::uint64_t>(own[k]) + static_cast<std::uint64_t>(other[k]));
            }
            __syncthreads();
            if (k < acc::exact::words) own[k] = sum;
            __syncthreads();
            beyond = is_beyond(own);
        }
        if (beyond && k < acc::exact::words) own[k] = acc::exact::beyond_word(k);
        __syncthreads();
        if (rounds) return true;
        if (k == 0) acc::exact::normalize(own);
        __syncthreads();
        if (k < acc::exact::words) state[k] = own[k];
        return false;
    }
};

} // namespace
} // namespace exact

Status enqueue_finish(const Device&, ExactState* state, const ExactState* term, void* out, DType output,
                      Stream stream) noexcept {
    const exact::CallersState load{state->words().data(), term ? term->words().data() : nullptr, out != nullptr};
    return exact::launch_finish<1>(load, {out, output}, 1, stream);
}

} // namespace detreduce::cuda
