// The second kernel of small.cuh: one block joins what blocks have left, and rounds.
#pragma once

#include "multiset/exact/round.cuh"
#include "multiset/exact/small.cuh"

namespace detreduce::cuda::exact {

/// Sums go in pieces of 22 bits: 32 of them fit into a word that one instruction adds up over a
/// warp.
inline constexpr int piece_bits = 22, sum_pieces = 3;

/// The block's sums of what every thread has: warps' in shared memory, then by the first warp.
template <class S>
struct SmallJoin {
    int piece[sum_pieces * S::count][small_warps];

    __device__ __forceinline__ void put(const Word (&sums)[S::count]) {
#pragma unroll
        for (int k = 0; k < S::count; ++k) {
            constexpr int mask = (1 << piece_bits) - 1;
            const int pieces[sum_pieces] = {warp_add(static_cast<int>(sums[k]) & mask),
                                            warp_add(static_cast<int>(sums[k] >> piece_bits) & mask),
                                            warp_add(static_cast<int>(sums[k] >> (2 * piece_bits)))};
            if (threadIdx.x % warp_size != 0) continue;
#pragma unroll
            for (int j = 0; j < sum_pieces; ++j)
                piece[sum_pieces * k + j][threadIdx.x / warp_size] = pieces[j];
        }
    }
    /// By the first warp, after a barrier; all of its threads have it. Below 2^71.
    __device__ __forceinline__ void take(__int128 (&sums)[S::count]) const {
        const int lane = threadIdx.x % warp_size;
        static_assert(sum_pieces * S::count <= warp_size);
        Word mine = 0;
        if (lane < sum_pieces * S::count) {
#pragma unroll
            for (int w = 0; w < small_warps; ++w)
                mine += piece[lane][w];
        }
#pragma unroll
        for (int k = 0; k < S::count; ++k) {
            sums[k] = 0;
#pragma unroll
            for (int j = sum_pieces - 1; j >= 0; --j)
                sums[k] = (sums[k] << piece_bits) + shuffle_from(mine, sum_pieces * k + j);
        }
    }
};

/// What blocks left as words, added up. Each group of threads has a share of these blocks, and a
/// thread of it one of the words.
template <class S>
__device__ __forceinline__ void add_slots(const int* tops, int blocks, const Word* slots, Word* words) {
    __shared__ std::uint16_t in_words[policy::most_exact_small_blocks];
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int b = threadIdx.x; b < blocks; b += small_threads)
        if (tops[b] == left_in_words) in_words[atomicAdd(&count, 1)] = static_cast<std::uint16_t>(b);
    __syncthreads();
    constexpr int groups = small_threads / S::used_words > 0 ? small_threads / S::used_words : 1,
                  at_once = groups == 1 ? 32 : 16;
    const int group = threadIdx.x / S::used_words, word = S::used_word(threadIdx.x % S::used_words);
    if (group >= groups) return;
    Word sum = 0;
#pragma unroll 1
    for (int first = group; first < count; first += at_once * groups) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const int at = first + i * groups;
            sum += at < count ? slots[std::size_t{in_words[at]} * S::words + word] : 0;
        }
    }
    if (sum != 0) atomic_add(words + word, sum);
}

/// The sums of the parts that have this window: in the first warp.
template <class S>
__device__ __forceinline__ void join_window(const SmallParts<S> parts, const int* tops, int top, SmallJoin<S>& join,
                                            __int128 (&all)[S::count]) {
    Word sums[S::count] = {};
    for (int b = threadIdx.x; b < parts.blocks; b += small_threads) {
#pragma unroll
        for (int k = 0; k < S::count; ++k)
            sums[k] += tops[b] == top ? parts.sum(k, b) : 0;
    }
    join.put(sums);
    __syncthreads();
    if (threadIdx.x < warp_size) join.take(all);
}

/// The next window below, or any_top.
__device__ __forceinline__ int next_top(const int* tops, int blocks, int below, int* highest) {
    int top = any_top;
    for (int b = threadIdx.x; b < blocks; b += small_threads)
        top = tops[b] < below ? max(top, tops[b]) : top;
    top = warp_max(top);
    __syncthreads(); // what the iteration before left has been read
    if (threadIdx.x % warp_size == 0) highest[threadIdx.x / warp_size] = top;
    __syncthreads();
    return warp_max(highest[threadIdx.x % small_warps]);
}

/// Parts of several windows, from `high` to `low`, one after the other. Not inlined, nor is the
/// next: most sums are of one.
template <class S>
__device__ __noinline__ void join_windows(const SmallParts<S> parts, int high, int low, std::uint64_t n,
                                          SmallJoin<S>& join, const int* tops, int* highest, const Finish& finish) {
    Fixed<SmallSum<S>::limbs + 1> sum;
    for (int top = high; top != any_top; top = next_top(tops, parts.blocks, top, highest)) {
        __int128 all[S::count] = {};
        join_window(parts, tops, top, join, all);
        SmallSum<S> own;
        add_sums<S>(own, all);
        sum.add(own, top - low);
    }
    if (threadIdx.x == 0) round_fixed(sum, low + S::last_unit, n, finish);
}

/// All parts, whatever they are, added to the words of states in shared memory, which nobody else
/// looks at meanwhile. `tops` are there.
template <class S>
__device__ __forceinline__ void join_into_words(const SmallParts<S> parts, const Word* slots, SmallJoin<S>& join,
                                                const int* tops, int* highest, Word* words) {
    static_assert(S::words <= small_threads);
    add_slots<S>(tops, parts.blocks, slots, words);
    for (int top = left_in_words; (top = next_top(tops, parts.blocks, top, highest)) != any_top;) {
        __int128 all[S::count];
        join_window(parts, tops, top, join, all);
        for (int k = 0; threadIdx.x == 0 && k < S::count; ++k) {
            acc::exact::deposit(words + S::counters, static_cast<Word>(all[k] & 0xffffffff), top + S::relative_unit(k));
            acc::exact::deposit(words + S::counters, static_cast<Word>(all[k] >> 32), top + S::relative_unit(k) + 32);
        }
    }
}

/// Where some are in words, or of windows far apart.
template <class S>
__device__ __noinline__ void join_as_words(const SmallParts<S> parts, const Word* slots, std::uint64_t n,
                                           SmallJoin<S>& join, const int* tops, int* highest, const Finish& finish) {
    __shared__ Word words[S::words];
    if (threadIdx.x < S::words)
        words[threadIdx.x] = threadIdx.x == S::counters + acc::exact::elements ? static_cast<Word>(n) : 0;
    __syncthreads();
    join_into_words(parts, slots, join, tops, highest, words);
    round_words<S::states>(words, finish);
}

/// What a thread has of the parts: sums, of no use if these are of different windows, and the ends
/// of the highest and of the lowest window.
template <class S>
struct ThreadParts {
    Word sums[S::count] = {};
    int high = any_top, low = left_in_words;

    __device__ __forceinline__ void add(const SmallParts<S>& parts, int b) {
        const int top = static_cast<int>(parts.top(b));
        high = max(high, top);
        low = min(low, top == any_top ? left_in_words : top);
#pragma unroll
        for (int k = 0; k < S::count; ++k)
            sums[k] += parts.sum(k, b);
    }
    /// By the block: into shared memory, before a barrier.
    __device__ __forceinline__ void put(SmallJoin<S>& join, int* highest, int* lowest) {
        join.put(sums);
        high = warp_max(high);
        low = warp_min(low);
        if (threadIdx.x % warp_size != 0) return;
        highest[threadIdx.x / warp_size] = high;
        lowest[threadIdx.x / warp_size] = low;
    }
};

template <class S>
__global__ void __launch_bounds__(small_threads)
    join_small_kernel(Word* left, int blocks, const Word* slots, std::uint64_t n, const Finish finish) {
    const SmallParts<S> parts{left, blocks};
    __shared__ SmallJoin<S> join;
    __shared__ int highest[small_warps], lowest[small_warps], tops[policy::most_exact_small_blocks];
    __shared__ double nowhere;
#pragma unroll 1
    for (int pass = first_pass(); pass < 2; ++pass) { // see there; the first time for a sum of 1 that is nobody's
        const bool real = pass == 1;
        if (real) wait_for_previous_kernel();
        __syncthreads(); // what was for nobody has been read
        // A root or a quotient of nothing would take longer than it saves.
        const Finish to = real ? finish : Finish{&nowhere, finish.output, Finalize::sum};
        ThreadParts<S> own;
        if (!real) {
            own.high = own.low = 0;
            own.sums[0] = threadIdx.x == 0 ? 1 : 0;
        }
        for (int b = threadIdx.x; b < (real ? blocks : 0); b += small_threads) {
            own.add(parts, b);
            tops[b] = static_cast<int>(parts.top(b));
        }
        own.put(join, highest, lowest);
        __syncthreads();
        const int high = warp_max(highest[threadIdx.x % small_warps]),
                  low = warp_min(lowest[threadIdx.x % small_warps]);
        if (high == left_in_words || (high != any_top && high - low > 64)) {
            join_as_words(parts, slots, n, join, tops, highest, to);
        } else if (high != any_top && high != low) {
            __syncthreads(); // the join is used again
            join_windows(parts, high, low, n, join, tops, highest, to);
        } else if (threadIdx.x < warp_size) {
            __int128 all[S::count];
            join.take(all);
            if (threadIdx.x == 0) round_window<S>(all, high == any_top ? 0 : high, n, to);
        }
    }
}

// Mean and variance: small_kernel for the elements and once more for their squares, and one block
// that makes the result of both.

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

/// What parts hold of one map, if all of them have the same window: where that ends, or any_top.
template <class S>
struct JoinedMoment {
    SmallJoin<S> join;
    int highest[small_warps], lowest[small_warps];

    /// By the block; before a barrier.
    __device__ __forceinline__ void put(const SmallParts<S>& parts) {
        ThreadParts<S> own;
        for (int b = threadIdx.x; b < parts.blocks; b += small_threads)
            own.add(parts, b);
        own.put(join, highest, lowest);
    }
    /// By the first warp, behind it; false if there are several windows, or none.
    [[nodiscard]] __device__ __forceinline__ bool take(Word (&low)[S::count], Word (&high)[S::count], int& top) const {
        __int128 all[S::count];
        join.take(all);
#pragma unroll
        for (int k = 0; k < S::count; ++k) {
            low[k] = static_cast<Word>(all[k] & 0xffffffff);
            high[k] = static_cast<Word>(all[k] >> 32);
        }
        top = warp_max(highest[threadIdx.x % small_warps]);
        return top == warp_min(lowest[threadIdx.x % small_warps]) && top != left_in_words;
    }
};

template <class SumShape, class SquareShape>
__global__ void __launch_bounds__(small_threads) join_moments_kernel(const SmallLeft sums, const SmallLeft squares,
                                                                     int blocks, std::uint64_t n, const Finish finish) {
    constexpr int count = SumShape::words + SquareShape::words;
    __shared__ Word words[count];
    __shared__ JoinedMoment<SumShape> sum;
    __shared__ JoinedMoment<SquareShape> square;
    for (int i = threadIdx.x; i < count; i += small_threads)
        words[i] = i == acc::exact::elements ? static_cast<Word>(n) : 0;
    wait_for_previous_kernel();
    sum.put({sums.parts, blocks});
    square.put({squares.parts, blocks});
    __syncthreads();
    bool stored = false;
    if (threadIdx.x < warp_size) {
        Word low[SumShape::count], high[SumShape::count], low_square[SquareShape::count],
            high_square[SquareShape::count];
        int top = 0, top_square = 0;
        const bool joined = sum.take(low, high, top), joined_squares = square.take(low_square, high_square, top_square);
        if (joined && joined_squares && threadIdx.x == 0 && !finish.state) {
            stored =
                store_moments<SumShape, SquareShape>(low, high, top, low_square, high_square, top_square, n, finish);
        }
    }
    if (__syncthreads_or(stored)) return;
    join_moment<SumShape>(sums, blocks, words);
    join_moment<SquareShape>(squares, blocks, words + SumShape::words);
    round_words<1 + SquareShape::states>(words, finish);
}

} // namespace detreduce::cuda::exact
