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

/// The elements of a chunk: no byte beside them is read.
template <class T>
struct WordPlace {
    const T* p;   ///< the first one
    int left;     ///< how many there are from p to the end of the tile; may be more than a chunk, or less than 1
    int readable; ///< as far as they may be read: `left`, or 1 more where the next tile begins there
    [[nodiscard]] __device__ __forceinline__ bool odd() const { return is_upper_half(p); }
};

/// A thread's elements of a chunk: those of row r are taken from words[r] as numbers 0 … 7.
template <class T>
struct WordsOfChunk {
    static_assert(fp::has_16_bits<T>);
    using Order = spec::TreeOrder<2>;
    using Place = WordPlace<T>;
    static constexpr int rows = spec::rows_per_chunk, lanes = Order::lanes, each = 4, last_number = 7;
    std::uint32_t words[rows][each];
    std::uint16_t alone; ///< bits of what number 7 begins with

    /// May all words of row r be read, of every thread?
    [[nodiscard]] static __device__ __forceinline__ bool is_whole(int r, const Place& at, bool odd) {
        return at.readable >= (r + 1) * lanes + odd;
    }
    /// Has the chunk every word of all rows?
    [[nodiscard]] static __device__ __forceinline__ bool is_full(const Place& at) {
        return is_whole(rows - 1, at, at.odd());
    }
    [[nodiscard]] static __device__ __forceinline__ int thread() { return threadIdx.x % warp_size; }
    [[nodiscard]] static __device__ __forceinline__ const T* own_words(const Place& at, bool odd) {
        return at.p + odd + 2 * thread();
    }

    /// The element that is loaded alone, or `absent`.
    __device__ __forceinline__ void load_alone(const Place& at, bool odd, T absent) {
        alone = absent.bits;
        load2_if(odd && thread() == warp_size - 1 && at.left > 0, at.p, alone);
    }
    /// Row r if `there`, all of whose words may be read.
    __device__ __forceinline__ void load_if(bool there, int r, const T* own) {
        load4_of_row_if(there, own + r * lanes, words[r]);
    }
    /// What there is of row r, and else `absent`. No branch: loads behind one would wait for those
    /// before it.
    __device__ __forceinline__ void load_some(int r, const Place& at, const T* own, bool odd, T absent) {
        const int left = at.left - r * lanes - 2 * thread() - odd; // of the row, from the thread's first word on
        const std::uint32_t both = absent.bits * 0x10001u;
#pragma unroll
        for (int j = 0; j < each; ++j) {
            words[r][j] = both;
            load4_if_more_than_one(left - 64 * j, own + r * lanes + 64 * j, words[r][j]);
        }
    }
    /// The last element of all, if it is the lower half of a word that has no upper one: number
    /// `number` of the thread that has it begins with what the thread's words hold, and ends with
    /// `bits`; in the other threads `bits` is absent.
    struct Last {
        int number; ///< the same in all threads; −1: there is no such element
        std::uint16_t bits;
    };
    [[nodiscard]] static __device__ __forceinline__ Last load_last(const Place& at, bool odd, T absent) {
        const int i = at.left - 1 - odd;
        Last last{i >= 0 && i % 2 == 0 ? i % lanes / 64 * 2 : -1, absent.bits};
        load2_if(last.number >= 0 && i / 2 % warp_size == thread(), at.p + at.left - 1, last.bits);
        return last;
    }
    /// Leaves out lane 0 of the next chunk.
    __device__ __forceinline__ void leave_out(bool odd, T absent) {
        std::uint32_t& last = words[rows - 1][each - 1];
        if (odd && thread() == warp_size - 1) last = (last & 0xffffu) | std::uint32_t{absent.bits} << 16;
    }
    [[nodiscard]] __device__ __forceinline__ Pack<T, 8> pack(int r) const {
        Pack<T, 8> pack;
        __builtin_memcpy(&pack, words[r], sizeof pack);
        return pack;
    }
    [[nodiscard]] __device__ __forceinline__ T first_of_lane_0() const {
        return T::from_bits(alone);
    }
};

/// Lane j takes in lane j + half, for half = 128 … 1, of lanes as above. The halves of 128 and 64
/// are met within a thread. Where the first element is an upper half, the threads' last numbers are
/// those of their right neighbours, and the last thread's are those of the first one: the same
/// pairs meet. Only for what commutes; thread 0 has the result.
template <class Acc>
__device__ __forceinline__ Acc combine_words_of_warp(Lanes<Acc, 8>& lanes) {
    static_assert(Acc::commutes);
#pragma unroll
    for (int half = 4; half >= 2; half /= 2) {
#pragma unroll
        for (int k = 0; k < half; ++k)
            lanes.a[k].merge(lanes.a[k + half]);
    }
    constexpr int other_half = warp_size / 2;
    const bool upper = threadIdx.x & other_half;
    Acc sum = choose(upper, lanes.a[1], lanes.a[0]);
    sum.merge(shuffle_xor(choose(upper, lanes.a[0], lanes.a[1]), other_half));
#pragma unroll
    for (int distance = other_half / 2; distance >= 1; distance /= 2)
        sum.merge(shuffle_xor(sum, distance));
    sum.merge(shuffle_xor(sum, other_half));
    return sum;
}

/// Levels whose chunks are read so by a warp: of one array of 16-bit elements, whose partial
/// results commute.
template <class Level>
inline constexpr bool reads_words = false;
template <class T, class Acc, class Map>
inline constexpr bool reads_words<TermLevel<T, Acc, Map, Alignment::never>> =
    fp::has_16_bits<T>&& Map::inputs == 1 && Acc::commutes && !Acc::pairwise_rows && !Acc::keeps_errors;

/// The lanes of the chunk at `at`.
template <class Level>
__device__ __forceinline__ Lanes<typename Level::Acc, 8> fold_words(const WordPlace<typename Level::Item>& at) {
    using T = typename Level::Item;
    using Words = WordsOfChunk<T>;
    const bool odd = at.odd();
    const T absent = Level::identity(), *const own = Words::own_words(at, odd);
    Words words;
    words.load_alone(at, odd, absent);
    Lanes<typename Level::Acc, 8> lanes;
    const auto add_row = [&](int r) {
        const auto pack = words.pack(r);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if (r == 0 && k != Words::last_number) {
                lanes.a[k] = Level::as_accumulator(item_at(pack, k));
            } else {
                Level::take(lanes.a[k], item_at(pack, k));
            }
        }
    };
    if (Words::is_full(at)) {
#pragma unroll
        for (int r = 0; r < Words::rows; ++r)
            words.load_if(true, r, own);
        words.leave_out(odd, absent);
        lanes.a[Words::last_number] = Level::as_accumulator(words.first_of_lane_0());
#pragma unroll
        for (int r = 0; r < Words::rows; ++r)
            add_row(r);
        return lanes;
    }
#pragma unroll
    for (int r = 0; r < Words::rows; ++r)
        words.load_some(r, at, own, odd, absent);
    const auto last = Words::load_last(at, odd, absent);
    lanes.a[Words::last_number] = Level::as_accumulator(words.first_of_lane_0());
    add_row(0);
#pragma unroll
    for (int r = 1; r < Words::rows; ++r) {
        if (r * Words::lanes < at.left) add_row(r); // the same for all
    }
#pragma unroll
    for (int k = 0; k < 8; k += 2) {
        if (k == last.number) Level::take(lanes.a[k], T::from_bits(last.bits));
    }
    return lanes;
}

} // namespace detreduce::cuda
