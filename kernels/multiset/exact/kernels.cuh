// The kernels of `exact` for one input, flat. Groups and lists have kernels of their own (groups.cuh): their code costs flat sums registers.
#pragma once

#include "groups/parts.hpp"
#include "platform/grid.cuh"
#include "multiset/exact/round.cuh"
#include "multiset/exact/walk.cuh"

namespace detreduce::cuda::exact {

/// The words of a block's warps, added up.
template <class Input>
__device__ __forceinline__ void add_up(const WarpMemory<Input>* memory, std::uint64_t n, Word* total) {
    constexpr int count = Input::states * acc::exact::words, counters = LongOf<Input::states>::counters;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += block_threads) {
        const int s = i / acc::exact::words, k = i % acc::exact::words;
        Word sum = 0;
#pragma unroll
        for (int w = 0; w < block_warps; ++w)
            sum += k < acc::exact::digits ? carried(memory[w].words + s * acc::exact::words, k) : memory[w].words[i];
        if (i == counters + acc::exact::elements) sum += static_cast<Word>(n);
        total[i] = sum;
    }
    __syncthreads();
}

/// One input by all blocks: adds it to the states at `state`, or, one block alone and no state, finishes by itself.
template <class Input>
__global__ void __launch_bounds__(block_threads, blocks_at_once<Input>)
    add_kernel(const __grid_constant__ Input input, Word* state, const Between between, const Finish finish) {
    constexpr int count = Input::states * acc::exact::words;
    __shared__ WarpMemory<Input> memory[block_warps];
    __shared__ Word total[count];
    const std::uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    WarpMemory<Input>& own = memory[warp];
    for (int i = lane; i < count; i += warp_size)
        own.words[i] = 0;
    sync_warp();
    add_share(input, own, std::uint64_t{blockIdx.x} * block_warps + warp, std::uint64_t{gridDim.x} * block_warps,
              between);
    add_up(memory, blockIdx.x == 0 ? input.n : 0, total);
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

/// Makes `count` words zero, and what is between blocks.
static __global__ void zero_kernel(Word* state, int count, std::uint32_t* arrived, std::uint32_t* hint) {
    let_next_kernel_start();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        state[i] = 0;
    if (threadIdx.x == 0) *arrived = *hint = 0;
}

/// Finishes the states of `count` results, or of those that are left, to which the kernel before this one has added: a block each.
template <int States>
__global__ void finish_kernel(const Word* states, std::uint64_t count, const LeftGroups left, const Finish finish) {
    wait_for_previous_kernel();
    if (left.listed != nullptr) count = warp_size * std::uint64_t{left.listed[0]};
    for (std::uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
        std::uint64_t group = i;
        if (left.listed != nullptr) {
            const std::uint32_t word = left.listed[1 + i / warp_size], bit = i % warp_size;
            if ((left.bits[word] >> bit & 1) == 0) continue;
            group = std::uint64_t{word} * warp_size + bit;
        }
        finish_state<States>(states + group * States * acc::exact::words, finish.moved(group));
        __syncthreads(); // the words are used again
    }
}

} // namespace detreduce::cuda::exact
