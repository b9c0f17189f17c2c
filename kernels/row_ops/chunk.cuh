// What a thread holds of a row: its lanes of one chunk, in registers (sequence/tile.cuh has the
// order). A warp has a chunk; a team of as many warps as the row has chunks, 8 at most, a tile. A
// block has teams of block_warps in all, or one: threadIdx.x is a thread's number in its team,
// threadIdx.y the team's.
#pragma once

#include <detreduce/acc/finish.hpp>
#include <detreduce/acc/rounded.hpp>

#include "sequence/kernels.cuh"
#include "rounded.cuh"
#include "row_ops/rows.hpp"

namespace detreduce::cuda::row_kernels {

inline constexpr int most_warps = spec::chunks_per_tile;
/// Of a block, where a team does not have more. bf16 softmax of 4096 .79 of a copy, .73 with 8.
inline constexpr int block_warps = 4;

/// Numbers as they are stored, NaN as the canonical one.
template <class Out, bool MayBeNan, class V, int K>
__device__ __forceinline__ Pack<Out, K> stored_all(const V (&v)[K]) {
    Pack<Out, K> pack;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        if constexpr (std::is_same_v<Out, V> && !MayBeNan) {
            pack.v[k] = v[k];
        } else {
            pack.v[k] = rounded_to<Out>(v[k]);
        }
    }
    return pack;
}
#if DETREDUCE_GPU_HAS_BF16
/// Two at a time: the conversion makes every NaN 7fff, the largest signed integer, so that the
/// lesser of it and the canonical one is canonical, and all else stays.
template <class Half, bool MayBeNan, int K>
requires fp::has_16_bits<Half> __device__ __forceinline__ Pack<Half, K> stored_all(const float (&v)[K]) {
    constexpr std::uint32_t nan = fp::Format<Half>::canonical_nan * 0x10001u;
    std::uint32_t words[K / 2];
#pragma unroll
    for (int i = 0; i < K / 2; ++i) {
        words[i] = both_of_f32<Half>(v[2 * i], v[2 * i + 1]);
        if (MayBeNan) words[i] = __vmins2(words[i], nan);
    }
    Pack<Half, K> pack;
    __builtin_memcpy(&pack, words, sizeof pack);
    return pack;
}
#endif

/// Where results of a row go, from its number `first` on: elements of T, or, of 16-bit ones, also
/// of the format that they are added in. Which is the same for all threads: a kernel for each would
/// be as much code again, for the same time.
template <class T>
struct RowOut {
    using V = fp::Arithmetic<T>;
    void* out;
    std::uint64_t first;
    bool wide;

    [[nodiscard]] static __device__ __forceinline__ RowOut of(const Rows<T>& a, std::uint64_t row) {
        return {a.out, row * a.out_stride, a.output != dtype_of<T>};
    }
    [[nodiscard]] __device__ __forceinline__ RowOut from(std::uint64_t i) const { return {out, first + i, wide}; }
    [[nodiscard]] __device__ __forceinline__ bool is_wide() const { return !std::is_same_v<T, V> && wide; }
    template <class Out>
    [[nodiscard]] __device__ __forceinline__ Out* at(std::uint64_t i) const {
        return static_cast<Out*>(out) + (first + i);
    }
    __device__ __forceinline__ void put(std::uint64_t i, V value) const {
        if (is_wide()) {
            *at<V>(i) = rounded_to<V>(value);
        } else {
            *at<T>(i) = rounded_to<T>(value);
        }
    }
};

/// Stores of a warp's rows that follow each other, 16 bytes a thread, where they do not begin at 16
/// bytes. A thread stores the 16 bytes in which those of the thread before it end and its own
/// begin.
template <class T>
struct MovedStore {
    static constexpr bool halves = sizeof(T) == 2;
    char* out;                  ///< of the first row
    int bytes;                  ///< of all rows
    std::uint32_t whole_before; ///< 16 bytes that begin before it are all there
    int before;                 ///< bytes before the first in its 16
    int neighbor;               ///< the thread before, but if nothing moves, this one
    uint4 last;                 ///< what the thread had in the row before

    __device__ __forceinline__ MovedStore(T* first, int elements)
        : out(reinterpret_cast<char*>(first)), bytes(elements * static_cast<int>(sizeof(T))),
          whole_before(bytes < 16 ? 0 : static_cast<std::uint32_t>(bytes) - 15),
          before(static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16)),
          neighbor((thread() + (before == 0 ? 0 : warp_size - 1)) % warp_size), last{} {}
    /// The row that begins with byte `first` of all. No branch: threads that may go different ways
    /// wait for one another.
    __device__ __forceinline__ void put(int first, const uint4& own) {
        const uint4 given = before != 0 && thread() == warp_size - 1 ? last : own;
        std::uint32_t w[8] = {given.x, given.y, given.z, given.w, own.x, own.y, own.z, own.w};
        last = own;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            w[i] = shuffle_from(w[i], neighbor);
        const int from = before == 0 ? 0 : 16 - before; // of the bytes of w
        move_down<2>(w, (from & 8) != 0);
        move_down<1>(w, (from & 4) != 0);
        if constexpr (halves) {
            const std::uint32_t selector = (from & 2) != 0 ? 0x5432u : 0x3210u; // of __byte_perm(): halves that meet
#pragma unroll
            for (int i = 0; i < 4; ++i)
                w[i] = __byte_perm(w[i], w[i + 1], selector);
        }
        store(first + thread() * 16 - before, {w[0], w[1], w[2], w[3]});
    }
    /// What rows up to byte `end` have left.
    __device__ __forceinline__ void finish(int end) const {
        if (before == 0 || thread() != warp_size - 1 || end - before >= bytes) return;
        store_some(out + end - 16, 16 - before, bytes - (end - 16), last);
    }

  private:
    [[nodiscard]] static __device__ __forceinline__ int thread() {
        return static_cast<int>(threadIdx.x) % warp_size;
    }
    template <int By>
    static __device__ __forceinline__ void move_down(std::uint32_t (&w)[8], bool moves) {
#pragma unroll
        for (int i = 0; i + By < 8; ++i)
            w[i] = moves ? w[i + By] : w[i];
    }
    __device__ __forceinline__ void store(int at, const std::uint32_t (&w)[4]) const {
        if (static_cast<std::uint32_t>(at) < whole_before) {
            store16(out + at, w);
        } else if (at + 16 > 0 && at < bytes) {
            store_some(out + at, -at, bytes - at, {w[0], w[1], w[2], w[3]});
        }
    }
    /// Bytes from `begin` on up to `end`. Not inlined: of a chunk, few threads do.
    static __device__ __noinline__ void store_some(char* to, int begin, int end, uint4 words) {
        constexpr int count = 16 / sizeof(T), size = sizeof(T);
        fp::Bits<T> all[count];
        __builtin_memcpy(all, &words, sizeof words);
#pragma unroll
        for (int k = 0; k < count; ++k) {
            if (k * size >= begin && k * size < end) reinterpret_cast<fp::Bits<T>*>(to)[k] = all[k];
        }
    }
};

/// −∞
template <class T>
inline constexpr T lowest_of = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::infinity_bits<T> | fp::sign_mask<T>));

/// Count: how many rows of a chunk this holds, from the first one on.
template <class T, bool Aligned, int Count = spec::rows_per_chunk>
struct Chunk {
    using V = fp::Arithmetic<T>;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr int K = Order::lanes / warp_size, rows = Count, lanes = Order::lanes;
    static constexpr bool aligned = Aligned;
    /// 16 bytes of a row. Words, as of 16-bit elements the compiler would else keep one in a
    /// register where two ways meet.
    struct Words {
        std::uint32_t w[4];
    };
    static_assert(K * sizeof(T) == sizeof(Words));
    Words words[rows];

    /// Where this thread's first element of a row of lanes is in a tile.
    static __device__ __forceinline__ int first(int row = 0) {
        return static_cast<int>(threadIdx.x / warp_size * Order::chunk + threadIdx.x % warp_size * K) + row * lanes;
    }
    /// The thread that has element i of a tile.
    static __device__ __forceinline__ int thread_of(int i) {
        constexpr int chunk = Order::chunk;
        return i / chunk * warp_size + i % chunk % lanes / K;
    }
    /// Of the `m` elements of the tile at p. In the place of what is not there is `identity`. Kept:
    /// the elements stay in L1 and L2, as rows that are not Aligned always do. Else they do not
    /// stay in L1, and are the first to leave L2. ByElement: of rows that begin anywhere it is
    /// asked for each load whether it is there, and not once for all. Norms, their gradients and,
    /// but for f32, that of cross entropy ask so: they are up to 4 % faster, others up to 15 %
    /// slower.
    template <bool Kept = false, bool ByElement = false>
    __device__ __forceinline__ void load(const T* p, int m, T identity) {
        const T* const own = p + first();
        const int remaining = m - first();
        const Words nothing = repeated(identity);
        const auto load_rows = [&](auto of_whole) {
            constexpr bool whole = decltype(of_whole)::value;
            if constexpr (!Aligned && fp::has_16_bits<T>) {
                const bool odd = is_upper_half(own);
                RawHalves raw[rows];
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    load16_of_halves_if_8(whole ? K : remaining - r * lanes,
                                          reinterpret_cast<const std::uint16_t*>(own + r * lanes), odd, raw[r].word);
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    words[r] = of_pack(put_together<T>(raw[r], odd));
                    const int there = remaining - r * lanes;
                    if (!whole && there < K) words[r] = there > 0 ? some_of(own + r * lanes, there, identity) : nothing;
                }
            } else {
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    const T* const at = own + r * lanes;
                    const int there = remaining - r * lanes;
                    words[r] = nothing;
                    if constexpr (!Aligned) {
#pragma unroll
                        for (int k = 0; k < K; ++k) {
                            if (!whole && k >= there) continue;
                            const T item = load_number(at + k);
                            __builtin_memcpy(words[r].w + k * sizeof(T) / 4, &item, sizeof item);
                        }
                    } else if (whole || there > 0) {
                        words[r] = Kept ? whole_words(at) : of_pack(load_pack<Source::aligned_input, T, K>(at));
                    }
                }
            }
        };
        // All of the warp, or none.
        const bool is_whole = (Aligned || !ByElement) && m - first_of_warp() >= rows * lanes;
        is_whole ? load_rows(std::true_type{}) : load_rows(std::false_type{});
    }
    /// 16 bytes at p, which stay in L1.
    [[nodiscard]] static __device__ __forceinline__ Words whole_words(const T* p) {
        return __builtin_bit_cast(Words, load_read_only(reinterpret_cast<const uint4*>(p)));
    }
    /// Copies 16 bytes at p, where `there` elements exist, to shared memory: without a wait where p
    /// is a multiple of 16.
    static __device__ __forceinline__ void copy_shared(uint4* to, const T* p, int there) {
        if (Aligned || (there >= K && reinterpret_cast<std::uintptr_t>(p) % 16 == 0)) {
            if (there > 0) copy16_to_shared(to, p);
        } else if (there > 0) {
            *to = __builtin_bit_cast(uint4, some_of(p, there, T{}));
        }
    }
    /// Has the warp's chunk of the m elements of the tile at p brought nearer, for a load that
    /// comes later.
    static __device__ __forceinline__ void prefetch(const T* p, int m) {
        constexpr int line = 128 / sizeof(T);
        static_assert(line * warp_size == Order::chunk);
        const int i = static_cast<int>(threadIdx.x) * line;
        if (i < m) prefetch_to_l2(p + i);
    }
    /// The same, from element `first` on, of the row that will take this one's place on the GPU:
    /// its loads wait for L2 alone, and memory is read while others compute.
    static __device__ __forceinline__ void prefetch_ahead(const Rows<T>& a, const T* x, std::uint64_t stride,
                                                          std::uint64_t row, std::uint64_t first) {
        const std::uint64_t next = row + a.ahead;
        if (a.ahead != 0 && next < a.rows)
            prefetch(x + (next * stride + first), static_cast<int>(items_in_tile(first, a.n, Order::tile)));
    }
    [[nodiscard]] __device__ __forceinline__ V at(int r, int k) const {
        return number(words[r], k);
    }
    /// Number k of 16 bytes.
    [[nodiscard]] static __device__ __forceinline__ V number(const Words& from, int k) {
        if constexpr (fp::has_16_bits<T>) {
            return k % 2 == 0 ? low(from.w[k / 2]) : high(from.w[k / 2]);
        } else {
            V value;
            __builtin_memcpy(&value, from.w + k * sizeof(T) / 4, sizeof value);
            return value;
        }
    }
    /// Element k of row r, widened where it is used (platform/half.cuh).
    [[nodiscard]] __device__ __forceinline__ V here(int r, int k) const {
        if constexpr (std::is_same_v<T, bfloat16>) {
            return k % 2 == 0 ? f32_of_low_bf16_here(words[r].w[k / 2]) : f32_of_high_bf16_here(words[r].w[k / 2]);
        } else if constexpr (std::is_same_v<T, float16>) {
            return k % 2 == 0 ? f32_of_low_f16_here(words[r].w[k / 2]) : f32_of_high_f16_here(words[r].w[k / 2]);
        } else {
            return at(r, k);
        }
    }
    [[nodiscard]] static __device__ __forceinline__ Words of_pack(const Pack<T, K>& pack) {
        Words all;
        __builtin_memcpy(&all, &pack, sizeof all);
        return all;
    }
    [[nodiscard]] static __device__ __forceinline__ Words repeated(T value) {
        Pack<T, K> pack;
#pragma unroll
        for (int k = 0; k < K; ++k)
            pack.v[k] = value;
        return of_pack(pack);
    }
    /// Of two elements of 16 bits.
    [[nodiscard]] static __device__ __forceinline__ float low(std::uint32_t word) {
        if constexpr (std::is_same_v<T, bfloat16>) return __uint_as_float(word << 16);
        return f32_of_low_f16(word);
    }
    [[nodiscard]] static __device__ __forceinline__ float high(std::uint32_t word) {
        if constexpr (std::is_same_v<T, bfloat16>) return __uint_as_float(word & 0xffff0000u);
        return f32_of_high_f16(word);
    }

    /// lanes[k] = f(0, k) + f(1, k) + …
    template <class F>
    __device__ __forceinline__ static void add_rows(V (&sum)[K], const F& f) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
#pragma unroll
            for (int k = 0; k < K; ++k)
                sum[k] = r == 0 ? f(0, k) : sum[k] + f(r, k);
        }
    }

    /// f(r, k), a number of V, for each element that is there, to where it belongs in the `m`
    /// results of the tile at `out`. `space`: shared memory of the warp's, a number of V a lane,
    /// that nobody else uses. AtOnce: for a kernel in which the compiler would split a store of 16
    /// bytes into four. (Where it does not, its own code is shorter.)
    template <bool MayBeNan = true, bool AtOnce = false, class F>
    __device__ __forceinline__ static void store(const RowOut<T>& out, int m, void* space, const F& f) {
        if constexpr (!Aligned) {
            if (!out.is_wide())
                return store_moved<MayBeNan>(out.template at<T>(first_of_warp()), m - first_of_warp(), f);
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int there = m - first_of_warp() - r * lanes;
            if (there <= 0) continue; // all of the warp, or none
            V value[K];
#pragma unroll
            for (int k = 0; k < K; ++k)
                value[k] = f(r, k);
            if (out.is_wide()) {
                store_row<MayBeNan, AtOnce>(out.template at<V>(first_of_warp() + r * lanes), there, value, space);
            } else {
                store_row<MayBeNan, AtOnce>(out.template at<T>(first_of_warp() + r * lanes), there, value, space);
            }
        }
    }

  private:
    /// The first element of the warp's chunk.
    [[nodiscard]] static __device__ __forceinline__ int first_of_warp() {
        return static_cast<int>(threadIdx.x) / warp_size * static_cast<int>(Order::chunk);
    }
    /// The warp's chunk, `there` elements of it, to any element.
    template <bool MayBeNan, class F>
    static __device__ __forceinline__ void store_moved(T* chunk, int there, const F& f) {
        if (there <= 0) return; // all of the warp, or none
        MovedStore<T> moved(chunk, there);
        constexpr int row_bytes = warp_size * 16;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (there <= r * lanes) continue;
            V value[K];
#pragma unroll
            for (int k = 0; k < K; ++k)
                value[k] = f(r, k);
            moved.put(r * row_bytes, __builtin_bit_cast(uint4, of_pack(stored_all<T, MayBeNan>(value))));
        }
        moved.finish((there < rows * lanes ? (there + lanes - 1) / lanes : rows) * row_bytes);
    }
    /// A row of the warp's lanes, of which `there` exist.
    template <bool MayBeNan, bool AtOnce, class Out>
    static __device__ __forceinline__ void store_row(Out* row, int there, const V (&value)[K], void* space) {
        const Pack<Out, K> pack = stored_all<Out, MayBeNan>(value);
        const int thread = static_cast<int>(threadIdx.x) % warp_size;
        if constexpr (Aligned) {
            if (thread * K >= there) return;
            uint4* const to = reinterpret_cast<uint4*>(row + thread * K);
            Words raw[sizeof pack / 16];
            __builtin_memcpy(raw, &pack, sizeof pack);
#pragma unroll
            for (int i = 0; i < static_cast<int>(sizeof pack / 16); ++i) {
                if constexpr (AtOnce) {
                    store16(to + i, raw[i].w);
                } else {
                    to[i] = __builtin_bit_cast(uint4, raw[i]);
                }
            }
        } else { // through shared memory, so that neighbouring threads store neighbouring words
            sync_warp();
            reinterpret_cast<Pack<Out, K>*>(space)[thread] = pack;
            sync_warp();
#pragma unroll
            for (int i = thread; i < lanes; i += warp_size)
                if (i < there) row[i] = static_cast<const Out*>(space)[i];
        }
    }
    /// The first `there` elements at p. Not inlined: of a row, few threads do.
    static __device__ __noinline__ Words some_of(const T* p, int there, T identity) {
        Pack<T, K> some;
#pragma unroll
        for (int k = 0; k < K; ++k)
            some.v[k] = k < there ? load_number(p + k) : identity;
        return of_pack(some);
    }
};

/// What all rows share, of a chunk: a thread's own words, in shared memory, copied while the row is
/// on its way. Room: for so many rows of lanes.
template <class T, class ChunkOf, int Room = ChunkOf::rows>
struct SharedWords {
    using Words = typename ChunkOf::Words;
    static constexpr std::size_t bytes_of_warp = Room * warp_size * sizeof(Words);
    uint4* own;

    /// At the end of a team's memory.
    __device__ __forceinline__ explicit SharedWords(char* end) {
        const int warp = static_cast<int>(threadIdx.x) / warp_size, warps = static_cast<int>(blockDim.x) / warp_size;
        own = reinterpret_cast<uint4*>(end) - (warps - warp) * (Room * warp_size) + threadIdx.x % warp_size;
    }
    /// Of the m elements of the tile at p: row r, or the first ones. They are there behind
    /// wait_for_copies().
    __device__ __forceinline__ void copy_row(const T* p, int m, int r) const {
        const int first = ChunkOf::first() + r * ChunkOf::lanes;
        ChunkOf::copy_shared(own + r % Room * warp_size, p + first, m - first);
    }
    __device__ __forceinline__ void copy(const T* p, int m) const {
#pragma unroll
        for (int r = 0; r < Room; ++r)
            copy_row(p, m, r);
    }
    [[nodiscard]] __device__ __forceinline__ Words at(int r) const {
        return __builtin_bit_cast(Words, own[r % Room * warp_size]);
    }
};

} // namespace detreduce::cuda::row_kernels
