// Chunks of 16-bit elements that begin anywhere, by a warp each: read as the words that the
// elements are in, of 4 bytes, neighbouring threads neighbouring words. So every load of a warp
// touches 128 bytes in a row, where the 16 bytes that are a thread's own (sequence/tile.cuh) would
// be 5 or 6 loads of words 16 bytes apart.
//
// Thread t has the words t, t + 32, t + 64 and t + 96 of each row of lanes: lanes 2t + 64j and
// 2t + 64j + 1, as its numbers 2j and 2j + 1. Where the first element is the upper half of a word
// the words begin with the second: lanes 2t + 64j + 1 and 2t + 64j + 2, of which the very
// last, 256, is lane 0 of the next row. So the last number of the last thread is lane 0, which
// begins with an element that is loaded alone, and the last element of the chunk's last word is
// left out.
#pragma once

#include <detreduce/spec/tree_order.hpp>

#include "sequence/tile.cuh"

namespace detreduce::cuda {

/// The lane of number k of a thread; `odd`: the first element is an upper half.
[[nodiscard]] __device__ __forceinline__ int lane_of_number(int k, bool odd) {
    return (2 * static_cast<int>(threadIdx.x % warp_size) + 64 * (k / 2) + k % 2 + odd) % 256;
}

/// A thread's elements of a chunk, none of the bytes beside which is read. Those of row r are
/// taken from words[r] as numbers 0 … 7.
template <class T>
struct WordsOfChunk {
    static_assert(fp::has_16_bits<T>);
    using Order = spec::TreeOrder<2>;
    static constexpr int rows = spec::rows_per_chunk, lanes = Order::lanes, each = 4;
    std::uint32_t words[rows][each];

    [[nodiscard]] static __device__ __forceinline__ int thread() { return threadIdx.x % warp_size; }
    /// Has the chunk every word of all rows, if there are `remaining` elements from p on?
    [[nodiscard]] static __device__ __forceinline__ bool is_full(int remaining, bool odd) {
        return remaining >= rows * lanes + odd;
    }

    /// The first Most rows of the `remaining` elements at p, of which all words of the first
    /// `Minimum` are there; what is not is `identity`. No branch: loads behind one would wait for
    /// those before it.
    template <int Most, int Minimum>
    __device__ __forceinline__ void load(const T* p, int remaining, bool odd, T identity) {
        const T* const own = p + odd + 2 * thread();
        const bool last_thread = thread() == warp_size - 1;
        const std::uint32_t both = identity.bits * 0x10001u;
        std::uint16_t alone = identity.bits;
        load2_if(odd && last_thread && remaining > 0, p, alone);
#pragma unroll
        for (int r = 0; r < Most; ++r) {
            if (r < Minimum) {
                load4_of_row_if(true, own + r * lanes, words[r]);
                continue;
            }
            const int from = remaining - r * lanes - 2 * thread() - odd; // of the row, from the thread's first word on
#pragma unroll
            for (int j = 0; j < each; ++j) {
                words[r][j] = both;
                load4_if_more_than_one(from - 64 * j, own + r * lanes + 64 * j, words[r][j]);
            }
        }
        if constexpr (Minimum < Most) load_last<Most>(p, remaining, odd, identity);
        const bool shifted = odd && last_thread; // its number 7 is lane 0, a row further on
        std::uint32_t before = std::uint32_t{alone} << 16;
#pragma unroll
        for (int r = 0; r < Most; ++r) {
            const std::uint32_t word = words[r][each - 1];
            words[r][each - 1] = __byte_perm(word, before, shifted ? 0x7610 : 0x3210);
            before = word;
        }
    }
    /// The last element of all, if it is the lower half of a word that has no upper one.
    template <int Most>
    __device__ __forceinline__ void load_last(const T* p, int remaining, bool odd, T identity) {
        const int i = remaining - 1 - odd;
        const bool there = i >= 0 && i < Most * lanes && i % 2 == 0, mine = there && i / 2 % warp_size == thread();
        std::uint16_t last = identity.bits;
        load2_if(mine, p + (remaining - 1), last);
        if (!there) return; // the same for all
#pragma unroll
        for (int r = 0; r < Most; ++r) {
#pragma unroll
            for (int j = 0; j < each; ++j) {
                if (mine && i / 64 == r * each + j) words[r][j] = std::uint32_t{identity.bits} << 16 | last;
            }
        }
    }
    [[nodiscard]] __device__ __forceinline__ Pack<T, 8> pack(int r) const {
        Pack<T, 8> pack;
        __builtin_memcpy(&pack, words[r], sizeof pack);
        return pack;
    }
};

/// Lane j takes in lane j + half, for half = 128 … 1, of lanes as above; thread 0 has the result.
/// The halves of 128 and 64 are met within a thread. Where the first element is an upper half, the
/// threads' last numbers are those of their right neighbours, and the last thread's are those of
/// the first one: the same pairs meet, some of them the other way round.
template <class Acc, class Merges>
__device__ __forceinline__ Acc combine_words_of_warp(Lanes<Acc, 8>& lanes, const Merges& merges, bool odd) {
    each_half<4, 2>([&]<int Half>() {
        constexpr int apart = Half * warp_size;
        const auto merge = merges.lanes(apart);
#pragma unroll
        for (int k = 0; k < Half; ++k) {
            const int j = lane_of_number(k, odd);
            lanes.a[k] = meet([&](Acc& left, const Acc& right) { merge(left, right, j % apart); }, lanes.a[k],
                              lanes.a[k + Half], k + 1 == Half && (j & apart)); // others are never above
        }
    });
    constexpr int other_half = warp_size / 2;
    const bool upper = threadIdx.x & other_half;
    const int j = lane_of_number(upper, odd);
    const auto meet_at = [&](int apart, const Acc& mine, const Acc& other) {
        return meet([&](Acc& left, const Acc& right) { merges.lanes(apart)(left, right, j % apart); }, mine, other,
                    j & apart);
    };
    Acc sum = meet_at(warp_size, choose(upper, lanes.a[1], lanes.a[0]),
                      shuffle_xor(choose(upper, lanes.a[0], lanes.a[1]), other_half));
#pragma unroll
    for (int distance = other_half / 2; distance >= 1; distance /= 2)
        sum = meet_at(2 * distance, sum, shuffle_xor(sum, distance));
    return meet_at(1, sum, shuffle_xor(sum, other_half));
}

/// Levels whose chunks are read so by a warp: of one array of 16-bit elements.
template <class Level>
inline constexpr bool reads_words = false;
template <class T, class Acc, class Map>
inline constexpr bool reads_words<TermLevel<T, Acc, Map, Alignment::never>> =
    fp::has_16_bits<T>&& Map::inputs == 1 && Acc::commutes && !Acc::pairwise_rows && !Acc::keeps_errors;

/// The lanes of a chunk at p, of which `remaining` elements are there; or more.
template <class Level, class Rows>
__device__ __forceinline__ Lanes<typename Level::Acc, 8> fold_words(const typename Level::Item* p, int remaining,
                                                                    const Rows& rows_of) {
    using Words = WordsOfChunk<typename Level::Item>;
    const auto sum = [&]<int Most, int Minimum>() {
        Words words;
        words.template load<Most, Minimum>(p, remaining, is_upper_half(p), Level::identity());
        Pack<typename Level::Item, 8> packs[spec::rows_per_chunk];
#pragma unroll
        for (int r = 0; r < Most; ++r)
            packs[r] = words.pack(r);
        return fold_rows<Level, 8, Most, Minimum>(packs, rows_of);
    };
    constexpr int all = spec::rows_per_chunk, half = all / 2;
    if (Words::is_full(remaining, is_upper_half(p))) return sum.template operator()<all, all>();
    return remaining > half * Words::lanes ? sum.template operator()<all, half>() : sum.template operator()<half, 0>();
}

} // namespace detreduce::cuda
