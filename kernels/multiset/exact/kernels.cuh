// The kernels of `exact` for one input, flat. Groups and lists have kernels of their own
// (groups.cuh): their code costs flat sums registers.
#pragma once

#include "platform/grid.cuh"
#include "platform/launch_kernel.hpp"
#include "multiset/exact/round.cuh"
#include "multiset/exact/walk.cuh"

namespace detreduce::cuda::exact {

/// The words of a block's warps, added up.
template <class Input, class Memory>
__device__ __forceinline__ void add_up(const Memory* memory, std::uint64_t n, Word* total) {
    constexpr int count = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters;
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += block_threads) {
        Word sum = 0;
#pragma unroll
        for (int w = 0; w < block_warps; ++w)
            sum += carried_word(memory[w].words, i);
        if (i == counters + acc::exact::elements) sum += static_cast<Word>(n);
        total[i] = sum;
    }
    __syncthreads();
}

/// The words of what a block has of an input, whose warps are those from number `first` on of
/// `warps`.
template <class Input>
__device__ __forceinline__ void add_by_block(const Input& input, FlatMemory<Input>* memory, std::uint64_t first,
                                             std::uint64_t warps, const Between& between, std::uint64_t n,
                                             Word* total) {
    const std::uint32_t warp = threadIdx.x / warp_size;
    warp_clear(memory[warp].words, Input::states * acc::exact::words);
    add_share(input, memory[warp], first + warp, warps, between);
    add_up<Input>(memory, n, total);
}

/// One input by all blocks: adds it to the states at `state`, or, one block alone and no state,
/// finishes by itself.
template <class Input>
__global__ void __launch_bounds__(block_threads, blocks_at_once<Input>)
    add_kernel(const __grid_constant__ Input input, Word* state, const Between between, const Finish finish) {
    constexpr int count = Input::states * acc::exact::words;
    __shared__ FlatMemory<Input> memory[block_warps];
    __shared__ Word total[count];
    add_by_block(input, memory, std::uint64_t{blockIdx.x} * block_warps, std::uint64_t{gridDim.x} * block_warps,
                 between, blockIdx.x == 0 ? input.n : 0, total);
    if (gridDim.x == 1 && state == nullptr) { // nobody else to wait for
        round_words<Input::states>(total, finish);
        return;
    }
    wait_for_previous_kernel(); // which has made the state zero
    for (int i = threadIdx.x; i < count; i += block_threads) {
        if (total[i] != 0) atomic_add(state + i, total[i]);
    }
    if (between.arrived == nullptr) return; // another kernel finishes
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) last = count_arrival(between.arrived, 1) == gridDim.x - 1;
    __syncthreads();
    if (last) finish_state<Input::states>(state, finish);
}

/// Finishes results, a block each: of the words that `load` puts into shared memory, of number i of
/// load.results(). Where it puts none there is nothing to finish.
template <int States, class Load>
__global__ void __launch_bounds__(Load::threads)
    finish_kernel(const __grid_constant__ Load load, const __grid_constant__ Finish finish) {
    __shared__ Word words[States * acc::exact::words];
    wait_for_previous_kernel();
    const std::uint64_t results = load.results();
    for (std::uint64_t i = blockIdx.x; i < results; i += gridDim.x) {
        std::uint64_t group = i;
        if (!load.load(i, words, group)) continue; // the same for the block
        __syncthreads();
        round_words<States>(words, finish.moved(group));
        __syncthreads(); // the words are used again
    }
}

template <int States, class Load>
[[nodiscard]] Status launch_finish(const Load& load, const Finish& finish, std::uint64_t blocks, Stream stream) {
    return launch_kernel(LaunchKind::plain, finish_kernel<States, Load>, static_cast<std::uint32_t>(blocks),
                         Load::threads, 0, stream, load, finish);
}

/// The states of `count` results, to which the kernel before has added. Of
/// each sum of products it is the last that counts, of 1 + 2 · Beside: the middle one.
template <int States, int Beside = 0>
struct StatesAt {
    static constexpr int threads = state_block_threads;
    const Word* states;
    std::uint64_t count;

    [[nodiscard]] __device__ __forceinline__ std::uint64_t results() const { return count; }
    __device__ __forceinline__ bool load(std::uint64_t i, Word* words, std::uint64_t&) const {
        constexpr int count = States * acc::exact::words, beside = Beside * acc::exact::words;
        for (int k = threadIdx.x; k < count; k += threads)
            words[k] =
                load_from_l2(states + i * (count + 2 * beside) + k + (k >= count - acc::exact::words ? beside : 0));
        return true;
    }
};

} // namespace detreduce::cuda::exact
