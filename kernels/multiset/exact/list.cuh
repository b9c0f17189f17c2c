// `exact` of a list of tensors, as one sequence of tiles: each tensor's, one tensor after the
// other. Blocks take equal shares of it, wherever tensors begin and end, so that none is the last
// by much; a warp keeps its window and its words from one tensor to the next. (A block for a share
// of each tensor was 4 to 8 % slower: it began and ended seven times as often, and the last of them
// late.)
#pragma once

#include <new>
#include <type_traits>

#include "multiset/exact/kernels.cuh"
#include "multiset/exact/terms.cuh"
#include "tensors/list.hpp"

namespace detreduce::cuda::exact {

struct ListWork {
    const TensorEntry* tensors = nullptr;
    const std::uint32_t* tensor_of_block = nullptr; ///< the tensor that a block's first tile is of
    std::uint64_t tiles = 0;
    std::uint32_t count = 0;
    std::uint32_t state_words = 0; ///< from one tensor's words to the next
    Word* states = nullptr;        ///< unless null, of tensors: one after the other
};
/// What adds a list of one dtype. Of terms that are one state the words go to the middle one of
/// three.
struct ListKernel {
    void (*kernel)(Word* state, ListWork work) = nullptr;
    std::uint64_t tile = 0;     ///< elements
    int first_word = 0;         ///< of a state
    std::uint32_t resident = 0; ///< blocks that the device holds at once
};

/// What a block has of the list. In shared memory, as is what a warp has of a tensor: kept in
/// registers they would be in the way of loads.
template <class Input>
struct ListShare {
    using T = typename Input::Type;
    static constexpr int count = Input::states * acc::exact::words;
    std::uint64_t begin, end; ///< tiles
    alignas(Input) unsigned char parts[block_warps][sizeof(Input)];

    /// By one thread.
    __device__ __forceinline__ void set(std::uint64_t tiles) {
        begin = blockIdx.x * tiles / gridDim.x;
        end = (blockIdx.x + 1ull) * tiles / gridDim.x;
    }
    [[nodiscard]] __device__ __forceinline__ Input& part() {
        return *reinterpret_cast<Input*>(parts[threadIdx.x / warp_size]);
    }
    /// By one thread of a warp: part() is the block's part of a tensor, from tile `from` of that
    /// on.
    __device__ __forceinline__ void take(const TensorEntry& entry, std::uint64_t from) {
        const std::uint64_t first = from * Input::tile, most = (end - entry.first - from) * Input::tile;
        const T* y = nullptr;
        if constexpr (Input::binary) y = reinterpret_cast<const T*>(static_cast<std::uintptr_t>(entry.second)) + first;
        new (&part()) Input(static_cast<const T*>(entry.x) + first, y, min(entry.n - first, most), 1);
    }
    /// Where word k goes. Of mean and variance there are three states of Σx², whatever the dtype,
    /// of which elements that are no doubles take the middle one.
    static __device__ __forceinline__ int place(int k) {
        return Input::states == 2 && k >= acc::exact::words ? k + acc::exact::words : k;
    }
    /// Adds a block's words to `to`, and to `also` unless null.
    static __device__ __forceinline__ void deposit(const WarpMemory<Input>* memory, std::uint64_t n, Word* total,
                                                   Word* to, Word* also) {
        add_up<Input>(memory, n, total);
        for (int k = threadIdx.x; k < count; k += block_threads) {
            if (total[k] == 0) continue;
            atomic_add(to + place(k), total[k]);
            if (also) atomic_add(also + place(k), total[k]);
        }
    }
};

template <class Input>
inline constexpr bool list_spills = std::is_same_v<typename Input::Type, bfloat16> && (Input::vectors > short_tile);
template <class Input>
inline constexpr int list_blocks = list_spills<Input> ? policy::exact_list_of_bf16.blocks : blocks_at_once<Input>;

/// `state`: the sum of all. Each of the block's warps takes every fourth tile.
template <class Input>
__global__ void __launch_bounds__(block_threads, list_blocks<Input>)
    list_kernel(Word* state, const __grid_constant__ ListWork work) {
    using Share = ListShare<Input>;
    using Map = typename Input::MapType;
    __shared__ WarpMemory<Input> memory[block_warps];
    __shared__ Word total[Share::count];
    const std::uint32_t warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    WarpMemory<Input>& own = memory[warp];
    warp_clear(own.words, Share::count);
    wait_for_previous_kernel(); // which has written the list, and made the states zero
    __shared__ Share share;
    if (threadIdx.x == 0) share.set(work.tiles);
    __syncthreads();
    typename Input::FirstBins bins(own.words + LongOf<Input::states>::counters);
    std::uint64_t counted = 0;
    std::uint32_t slow_tiles = 0;
    std::uint32_t i = work.tensor_of_block[blockIdx.x];
    const auto more = [&] { return i < work.count && work.tensors[i].first < share.end; };
    while (more()) {
        const TensorEntry& entry = work.tensors[i++];
        const std::uint64_t from = share.begin > entry.first ? share.begin - entry.first : 0,
                            place = entry.first + from - share.begin; // in the share, of its first tile
        if (lane == 0) share.take(entry, from);
        sync_warp();
        TermWalk<typename Input::Type, Map, Input::vectors> walk{share.part(), own, (warp - place) % block_warps,
                                                                 block_warps};
        walk.slow_tiles = slow_tiles;
        walk.go(bins);
        slow_tiles = walk.slow_tiles;
        sync_warp(); // the warp's part is written again
        if (share.begin <= entry.first) counted += entry.n;
        if (work.states == nullptr && more()) continue;
        bins.flush_all();
        Share::deposit(memory, counted, total, state,
                       work.states != nullptr ? work.states + std::uint64_t{entry.index} * work.state_words : nullptr);
        __syncthreads(); // the words are used again
        warp_clear(own.words, Share::count);
        counted = 0;
    }
}

} // namespace detreduce::cuda::exact
