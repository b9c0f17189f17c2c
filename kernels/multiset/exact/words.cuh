// The words of an exact state (acc/exact.hpp) on the GPU: a warp's own in shared memory, and a
// block's merge of them.
#pragma once

#include <cstdint>

#include <detreduce/acc/exact.hpp>

#include "sequence/tile.cuh"
#include "platform/warp.cuh"

namespace detreduce::cuda::exact {

using acc::exact::Word;

static_assert(sizeof(unsigned long long) == sizeof(Word));

__device__ __forceinline__ void atomic_add(Word* to, Word value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

/// Sum over the warp; every thread has it. In pieces of 26 bits, of which 32 fit into a word that
/// one instruction sums.
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
    const Word limb = lane == 0 ? d.limb[0] : lane == 1 ? d.limb[1] : d.limb[2];
    if (lane < 3 && d.first + lane < acc::exact::limbs) words[d.first + lane] += limb;
    sync_warp();
}

/// The same of the sum of what threads have. By a call it would be slower for wide data of bf16.
__device__ __forceinline__ void warp_deposit_sum(Word* words, Word mine, int exponent) {
    warp_deposit(words, warp_sum(mine), exponent);
}

/// What limb k is when every limb has handed its carry to the next one, once: at most 2^33 in
/// magnitude if all were below 2^63.
__device__ __forceinline__ Word carried(const Word* words, int k) {
    const Word low = k + 1 < acc::exact::limbs ? words[k] & 0xffffffff : words[k];
    return low + (k > 0 ? words[k - 1] >> 32 : 0);
}

/// Word i of states, one behind the other, when every limb has handed on its carry.
__device__ __forceinline__ Word carried_word(const Word* states, int i) {
    const int k = i % acc::exact::words;
    return k < acc::exact::limbs ? carried(states + (i - k), k) : states[i];
}

/// Makes words of the warp's zero.
__device__ __forceinline__ void warp_clear(Word* words, int count) {
    for (int i = threadIdx.x % warp_size; i < count; i += warp_size)
        words[i] = 0;
    sync_warp();
}

/// Hands on the carries of the warp's words, so that they can take 2^29 more deposits. The highest
/// limbs are the first, as each looks at the one below. Not inlined: it is seldom run.
static __device__ __noinline__ void warp_carry(Word* words) {
    constexpr int last = (acc::exact::limbs - 1) / warp_size * warp_size;
    sync_warp();
#pragma unroll 1
    for (int k = last + static_cast<int>(threadIdx.x % warp_size); k >= 0; k -= warp_size) {
        const Word next = k < acc::exact::limbs ? carried(words, k) : 0;
        sync_warp();
        if (k < acc::exact::limbs) words[k] = next;
        sync_warp();
    }
}

} // namespace detreduce::cuda::exact
