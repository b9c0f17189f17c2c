// The words of an exact state (acc/exact.hpp) on the GPU: a warp's own in shared memory, a block's merge of them, the end.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact.hpp>
#include <detreduce/acc/finish.hpp>

#include "flat/tile.cuh"
#include "platform/warp.cuh"

namespace detreduce::cuda::exact {

using acc::exact::Word;

static_assert(sizeof(unsigned long long) == sizeof(Word));

__device__ __forceinline__ void atomic_add(Word* to, Word value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

/// Sum over the warp; every thread has it. In pieces of 26 bits, of which 32 fit into a word that one instruction sums.
__device__ __forceinline__ Word warp_sum(Word value) {
    constexpr unsigned mask = (1u << 26) - 1;
    const Word low = warp_add(static_cast<unsigned>(value) & mask),
               middle = warp_add(static_cast<unsigned>(value >> 26) & mask),
               high = warp_add(static_cast<int>(value >> 52));
    return low + (middle << 26) + static_cast<Word>(static_cast<std::uint64_t>(high) << 52);
}

/// Adds value · 2^exponent, the same in all threads, to the warp's words.
__device__ __forceinline__ void warp_deposit(Word* words, Word value, int exponent) {
    const acc::exact::Deposit d = acc::exact::split(value, exponent);
    const int lane = threadIdx.x % warp_size;
    const Word digit = lane == 0 ? d.digit[0] : lane == 1 ? d.digit[1] : d.digit[2];
    if (lane < 3 && d.first + lane < acc::exact::digits) words[d.first + lane] += digit;
    sync_warp();
}

/// What digit k is when every digit has handed its carry to the next one, once: at most 2^33 in magnitude if all were below 2^63.
__device__ __forceinline__ Word carried(const Word* words, int k) {
    const Word low = k + 1 < acc::exact::digits ? words[k] & 0xffffffff : words[k];
    return low + (k > 0 ? words[k - 1] >> 32 : 0);
}

/// Hands on the carries of the warp's words, so that they can take 2^29 more deposits.
__device__ __forceinline__ void warp_carry(Word* words) {
    constexpr int each = (acc::exact::digits + warp_size - 1) / warp_size;
    const int lane = threadIdx.x % warp_size;
    Word next[each];
    sync_warp();
    for (int i = 0; i < each; ++i)
        next[i] = lane + i * warp_size < acc::exact::digits ? carried(words, lane + i * warp_size) : 0;
    sync_warp();
    for (int i = 0; i < each; ++i) {
        if (lane + i * warp_size < acc::exact::digits) words[lane + i * warp_size] = next[i];
    }
    sync_warp();
}

/// What a kernel does with the state when every block has added to it.
struct Finish {
    void* out = nullptr; ///< rounded to here, unless null
    DType output = DType::f32;
    bool normalize = false; ///< and left in its one form
    Finalize finalize = Finalize::sum;
};

/// The digits of States states as one number, and where its words are that count.
template <int States>
struct LongOf;
template <>
struct LongOf<1> {
    static constexpr int digits = acc::exact::digits, lowest = acc::exact::lowest_exponent, counters = 0;
    static __device__ __forceinline__ Word digit(const Word* words, int k) { return words[k]; }
};
template <>
struct LongOf<acc::exact::product_states> {
    static constexpr int digits = acc::exact::product_digits, lowest = acc::exact::lowest_product_exponent,
                         counters = acc::exact::words;
    static __device__ __forceinline__ Word digit(const Word* words, int k) {
        return acc::exact::joined_digit(words, k);
    }
};

/// Rounds the words of States states in shared memory, which all threads see, to where `finish` says. By the first warp of a block; the others may call
/// this or not. Between two calls there must be a barrier.
template <int States>
__device__ __forceinline__ void round_words(const Word* words, const Finish& finish) {
    using L = LongOf<States>;
    __shared__ acc::exact::Scratch<L::digits> scratch;
    __shared__ Word joined[States == 1 ? 1 : L::digits];
    if (threadIdx.x >= warp_size) return;
    int first = L::digits, last = 0; // of the digits other than zero
#pragma unroll
    for (int base = 0; base < L::digits; base += warp_size) {
        const int k = base + static_cast<int>(threadIdx.x);
        const Word digit = k < L::digits ? L::digit(words, k) : 0;
        if (States > 1 && k < L::digits) joined[k] = digit;
        const std::uint32_t there = votes_of_warp(digit != 0);
        if (there == 0) continue;
        first = min(first, base + __ffs(static_cast<int>(there)) - 1);
        last = base + warp_size - __clz(static_cast<int>(there));
    }
    sync_warp();
    if (threadIdx.x != 0) return;
    const acc::exact::Long number{States == 1 ? words : joined, L::lowest, words + L::counters};
    const auto result = acc::exact::finished(number, first < last ? first : 0, last, finish.finalize, scratch);
    acc::store_as(finish.out, finish.output, [&](auto t) { return result.template as<decltype(t)>(); });
}

/// What one thread needs to round the words of a small group.
template <int States>
struct GroupScratch {
    acc::exact::Scratch<LongOf<States>::digits> scratch;
    Word digit[States == 1 ? 1 : LongOf<States>::digits];
};

/// The same as round_words(), by one thread. Not inlined: it is much code, beside loops that need every register.
template <int States>
static __device__ __noinline__ void round_group(const Word* words, GroupScratch<States>& room, const Finish& finish) {
    using L = LongOf<States>;
    int first = L::digits, last = 0;
    const Word* digits = words;
    if constexpr (States > 1) {
        for (int k = 0; k < L::digits; ++k)
            room.digit[k] = L::digit(words, k);
        digits = room.digit;
    }
    for (int k = 0; k < L::digits; ++k) {
        if (digits[k] == 0) continue;
        first = first < k ? first : k;
        last = k + 1;
    }
    const acc::exact::Long number{digits, L::lowest, words + L::counters};
    const auto result = acc::exact::finished(number, first < last ? first : 0, last, finish.finalize, room.scratch);
    acc::store_as(finish.out, finish.output, [&](auto t) { return result.template as<decltype(t)>(); });
}

/// The States states in global memory, to which every block has added, as `finish` wants it.
template <int States>
__device__ __forceinline__ void finish_state(Word* state, const Finish& finish) {
    constexpr int count = States * acc::exact::words;
    __shared__ Word words[count];
    for (int k = threadIdx.x; k < count; k += blockDim.x)
        words[k] = load_from_l2(state + k);
    __syncthreads();
    if (finish.normalize) { // of the one state that a caller keeps
        if (threadIdx.x == 0) acc::exact::normalize(words);
        __syncthreads();
        if (threadIdx.x < acc::exact::words) state[threadIdx.x] = words[threadIdx.x];
    }
    if (finish.out != nullptr) round_words<States>(words, finish);
}

} // namespace detreduce::cuda::exact
