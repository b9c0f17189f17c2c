// What a thread holds of a row: its lanes of one chunk, in registers (sequence/tile.cuh has the
// order). A warp has a chunk; a team of as many warps as the row has chunks, 8 at most, a tile. A
// block has teams of block_warps in all, or one: threadIdx.x is a thread's number in its team,
// threadIdx.y the team's.
#pragma once

#include <algorithm>
#include <cmath>

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
template <class Out, class V>
__device__ __forceinline__ Out stored(V v) {
    return rounded_to<Out>(v);
}
template <class Out, bool MayBeNan, class V, int K>
__device__ __forceinline__ Pack<Out, K> stored_all(const V (&v)[K]) {
    Pack<Out, K> pack;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        if constexpr (std::is_same_v<Out, V> && !MayBeNan) {
            pack.v[k] = v[k];
        } else {
            pack.v[k] = stored<Out>(v[k]);
        }
    }
    return pack;
}
#if DETREDUCE_GPU_HAS_BF16
/// Two at a time: the conversion makes every NaN 7fff, the greatest signed integer, so that the
/// lesser of it and the canonical one is canonical, and all else stays.
template <class Half, bool MayBeNan, int K>
requires fp::has_16_bits<Half> __device__ __forceinline__ Pack<Half, K> stored_all(const float (&v)[K]) {
    constexpr std::uint32_t nan = fp::Format<Half>::canonical_nan * 0x10001u;
    std::uint32_t words[K / 2];
#pragma unroll
    for (int i = 0; i < K / 2; ++i) {
        if constexpr (std::is_same_v<Half, bfloat16>) {
            words[i] = both_bf16_of_f32(v[2 * i], v[2 * i + 1]);
        } else {
            words[i] = both_f16_of_f32(v[2 * i], v[2 * i + 1]);
        }
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
            *at<V>(i) = stored<V>(value);
        } else {
            *at<T>(i) = stored<T>(value);
        }
    }
};

template <class T, bool Aligned>
struct Chunk {
    using V = fp::Arithmetic<T>;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr int K = Order::lanes / warp_size, rows = spec::rows_per_chunk, lanes = Order::lanes;
    /// 16 bytes of a row. Words, as of 16-bit elements the compiler would else keep one in a
    /// register where two ways meet.
    struct Words {
        std::uint32_t w[4];
    };
    static_assert(K * sizeof(T) == sizeof(Words));
    Words words[rows];

    /// Where this thread's first element is in a tile.
    static __device__ __forceinline__ int first() {
        return static_cast<int>(threadIdx.x / warp_size * Order::chunk + threadIdx.x % warp_size * K);
    }
    /// The thread that has element i of a tile.
    static __device__ __forceinline__ int thread_of(int i) {
        constexpr int chunk = Order::chunk;
        return i / chunk * warp_size + i % chunk % lanes / K;
    }
    /// Of the `m` elements of the tile at p. In the place of what is not there is `absent`.
    __device__ __forceinline__ void load(const T* p, int m, T absent) {
        const T* const own = p + first();
        const int left = m - first();
        const Words nothing = repeated(absent);
        if constexpr (Aligned) {
            const auto row = [&](int r) { return of_pack(load_pack<Source::aligned_input, T, K>(own + r * lanes)); };
            if (m >= (static_cast<int>(threadIdx.x / warp_size) + 1) * (rows * lanes)) { // all of the warp, or none
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    words[r] = row(r);
            } else {
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    words[r] = nothing;
                    if (r * lanes < left) words[r] = row(r);
                }
            }
        } else if constexpr (fp::has_16_bits<T>) {
            const bool odd = is_upper_half(own);
            RawHalves raw[rows];
#pragma unroll
            for (int r = 0; r < rows; ++r)
                raw[r] = load_raw_halves_if(r * lanes + K <= left, own + r * lanes, odd);
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const Words whole = of_pack(put_together<T>(raw[r], odd));
                const int there = left - r * lanes;
                words[r] = there >= K ? whole : nothing;
                if (there > 0 && there < K) words[r] = some_of(own + r * lanes, there, absent);
            }
        } else {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                words[r] = nothing;
#pragma unroll
                for (int k = 0; k < K; ++k) {
                    if (r * lanes + k >= left) continue;
                    const T item = load_number(own + r * lanes + k);
                    __builtin_memcpy(words[r].w + k * sizeof(T) / 4, &item, sizeof item);
                }
            }
        }
    }
    /// Has the warp's chunk of the m elements of the tile at p brought nearer, for a load that
    /// comes later.
    static __device__ __forceinline__ void prefetch(const T* p, int m) {
        constexpr int line = 128 / sizeof(T);
        static_assert(line * warp_size == rows * lanes);
        const int i = static_cast<int>(threadIdx.x) * line;
        if (i < m) prefetch_to_l2(p + i);
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
    /// results of the tile at `out`. `space`: shared memory of the warp's, store_bytes of it, that
    /// nobody else uses.
    template <bool MayBeNan = true, class F>
    __device__ __forceinline__ static void store(const RowOut<T>& out, int m, void* space, const F& f) {
        const int first_of_warp = first() - static_cast<int>(threadIdx.x) % warp_size * K;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int there = m - first_of_warp - r * lanes;
            if (there <= 0) continue; // all of the warp, or none
            V value[K];
#pragma unroll
            for (int k = 0; k < K; ++k)
                value[k] = f(r, k);
            if (out.is_wide()) {
                store_row<MayBeNan>(out.template at<V>(first_of_warp + r * lanes), there, value, space);
            } else {
                store_row<MayBeNan>(out.template at<T>(first_of_warp + r * lanes), there, value, space);
            }
        }
    }
    static constexpr int store_bytes = lanes * sizeof(V);

  private:
    /// A row of the warp's lanes, of which `there` exist.
    template <bool MayBeNan, class Out>
    static __device__ __forceinline__ void store_row(Out* row, int there, const V (&value)[K], void* space) {
        const Pack<Out, K> pack = stored_all<Out, MayBeNan>(value);
        const int thread = static_cast<int>(threadIdx.x) % warp_size;
        if constexpr (Aligned) {
            if (thread * K >= there) return;
            uint4 raw[sizeof pack / 16];
            __builtin_memcpy(raw, &pack, sizeof pack);
#pragma unroll
            for (int i = 0; i < static_cast<int>(sizeof pack / 16); ++i)
                reinterpret_cast<uint4*>(row + thread * K)[i] = raw[i];
        } else { // through shared memory, so that neighbouring threads store neighbouring words
            sync_warp();
            reinterpret_cast<Pack<Out, K>*>(space)[thread] = pack;
            sync_warp();
            if constexpr (fp::has_16_bits<Out>) {
                store_words(row, there, static_cast<const Out*>(space));
            } else {
#pragma unroll
                for (int i = thread; i < lanes; i += warp_size)
                    if (i < there) row[i] = static_cast<const Out*>(space)[i];
            }
        }
    }
    /// Two elements at a time, from the first on that begins a word.
    template <class Out>
    static __device__ __forceinline__ void store_words(Out* row, int there, const Out* from) {
        const int thread = static_cast<int>(threadIdx.x) % warp_size;
        const int odd = reinterpret_cast<std::uintptr_t>(row) % 4 != 0 ? 1 : 0;
        if (odd != 0 && thread == 0) row[0] = from[0];
#pragma unroll
        for (int j = 0; j < lanes; j += 2 * warp_size) {
            const int i = j + 2 * thread + odd;
            if (i + 1 < there && i + 1 < lanes) {
                *reinterpret_cast<std::uint32_t*>(row + i) = from[i].bits | static_cast<std::uint32_t>(from[i + 1].bits)
                                                                                << 16;
            } else if (i < there && i < lanes) {
                row[i] = from[i];
            }
        }
    }
    /// The first `there` elements at p, of 16 bits.
    static __device__ __forceinline__ Words some_of(const T* p, int there, T absent) {
        Words some;
#pragma unroll
        for (int k = 0; k < K; k += 2) {
            const T left = k < there ? load_number(p + k) : absent,
                    right = k + 1 < there ? load_number(p + k + 1) : absent;
            some.w[k / 2] = left.bits | static_cast<std::uint32_t>(right.bits) << 16;
        }
        return some;
    }
};

/// The element at a row's target, and its weight; or, where it is no class, what loss and weight
/// are.
template <class V>
struct RowTarget {
    V x, weight;
    bool there;
};

/// Shared memory of a team, with the lanes of its warps behind.
template <class T>
struct alignas(16) Shared {
    using V = fp::Arithmetic<T>;
    static constexpr int lanes = spec::TreeOrder<sizeof(T)>::lanes;
    template <class Acc>
    using Upper = BufferOf<PartialLevel<Acc>, most_warps>;
    V total;
    V greatest[most_warps];
    spec::ExpMerge<T> merge[most_warps - 1]; ///< of chunks: four of neighbours, two of pairs, one of halves
    spec::ExpState<T> state;
    spec::ExpSum<T> sum;
    RowTarget<V> target;

    /// Of the warp, which it may use for something else as long as there are no lanes in it.
    [[nodiscard]] __device__ __forceinline__ V* lane(int warp) { return reinterpret_cast<V*>(this + 1) + warp * lanes; }
    [[nodiscard]] __device__ __forceinline__ V* own_lane() { return lane(static_cast<int>(threadIdx.x) / warp_size); }
    /// Of a team of 8 warps, in the place of lanes.
    template <class Acc>
    [[nodiscard]] __device__ __forceinline__ Upper<Acc>& upper() {
        return *reinterpret_cast<Upper<Acc>*>(this + 1);
    }
    [[nodiscard]] static std::size_t bytes(std::uint32_t warps, bool has_levels) {
        const std::size_t of_lanes = warps * lanes * sizeof(V);
        const std::size_t above = std::max(sizeof(Upper<acc::Rounded<V>>), sizeof(Upper<spec::ExpState<T>>));
        return sizeof(Shared) + (has_levels ? std::max(of_lanes, above) : of_lanes);
    }
};

/// f(the number of the team's warps as a constant): its loops are unrolled.
template <class F>
__device__ __forceinline__ auto for_warps(const F& f) {
    switch (blockDim.x) {
    case 8 * warp_size:
        return f(std::integral_constant<int, 8>{});
    case 4 * warp_size:
        return f(std::integral_constant<int, 4>{});
    case 2 * warp_size:
        return f(std::integral_constant<int, 2>{});
    default:
        return f(std::integral_constant<int, 1>{});
    }
}

/// The thread's lanes, to where the team looks for them.
template <class V, int K>
__device__ __forceinline__ void put_lanes(V* own_lane, const V (&sum)[K]) {
    Pack<V, K> pack;
#pragma unroll
    for (int k = 0; k < K; ++k)
        pack.v[k] = sum[k];
    *reinterpret_cast<Pack<V, K>*>(own_lane + threadIdx.x % warp_size * K) = pack;
}

/// Lane by lane, the lanes of the team's chunks as merge(node, lane, left, right) merges two: to
/// the place of the first chunk's. Then, those added up in the order of a tile: to the first
/// thread.
template <int Warps, class T, int K, class Merge>
__device__ __forceinline__ fp::Arithmetic<T> merged_lanes(Shared<T>& s, const Merge& merge) {
    using V = fp::Arithmetic<T>;
    constexpr int lanes = spec::TreeOrder<sizeof(T)>::lanes, together = 16 / sizeof(V);
    using Some = Pack<V, together>;
    if constexpr (Warps > 1) {
        const int first = static_cast<int>(threadIdx.x) * together;
        if (first < lanes) {
            Some part[Warps];
#pragma unroll
            for (int w = 0; w < Warps; ++w)
                part[w] = *reinterpret_cast<const Some*>(s.lane(w) + first);
            int node = 0;
#pragma unroll
            for (int step = 1; step < Warps; step *= 2) {
#pragma unroll
                for (int w = 0; w < Warps; w += 2 * step, ++node) {
#pragma unroll
                    for (int i = 0; i < together; ++i)
                        part[w].v[i] = merge(node, first + i, part[w].v[i], part[w + step].v[i]);
                }
            }
            *reinterpret_cast<Some*>(s.lane(0) + first) = part[0];
        }
        static_assert(lanes / together <= 2 * warp_size);
        sync_team();
    }
    if (threadIdx.x >= warp_size) return {};
    acc::Rounded<V> lane[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
        lane[k] = {s.lane(0)[threadIdx.x + warp_size * k]};
    return combine_lanes(lane).sum;
}

/// Lanes of the team's chunks, added in the order of a tile: to the first thread.
template <class T, int K>
__device__ __forceinline__ fp::Arithmetic<T> sum_of_team(const fp::Arithmetic<T> (&sum)[K], Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    put_lanes(s.own_lane(), sum);
    sync_team();
    return for_warps([&](auto warps) {
        return merged_lanes<decltype(warps)::value, T, K>(s, [](int, int, V left, V right) { return left + right; });
    });
}
/// And to all threads.
template <class T, int K>
__device__ __forceinline__ fp::Arithmetic<T> team_sum(const fp::Arithmetic<T> (&sum)[K], Shared<T>& s) {
    const fp::Arithmetic<T> total = sum_of_team<T, K>(sum, s);
    if (threadIdx.x == 0) s.total = total;
    sync_team();
    return s.total;
}

/// The greater; a, if b is NaN.
__device__ __forceinline__ float greater_number(float a, float b) {
    return fmaxf(a, b);
}
__device__ __forceinline__ double greater_number(double a, double b) {
    return b > a ? b : a;
}
/// The greatest of a warp's numbers.
__device__ __forceinline__ double greatest_of_warp(double most) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2)
        most = greater_number(most, shuffle_xor(most, distance));
    return most;
}
__device__ __forceinline__ float greatest_of_warp(float most) {
    const auto in_order = [](std::int32_t bits) { return bits ^ (bits >> 31 & 0x7fffffff); };
    const auto key = in_order(static_cast<std::int32_t>(__float_as_uint(most)));
    return __uint_as_float(static_cast<std::uint32_t>(in_order(warp_max(key))));
}

#if DETREDUCE_GPU_HAS_BF16
template <class Half>
__device__ __forceinline__ std::uint32_t greater_of_both(std::uint32_t a, std::uint32_t b) {
    if constexpr (std::is_same_v<Half, bfloat16>) return greater_of_both_bf16(a, b);
    return greater_of_both_f16(a, b);
}
template <class Half>
__device__ __forceinline__ std::uint32_t not_less_of_both(std::uint32_t a, std::uint32_t b) {
    if constexpr (std::is_same_v<Half, bfloat16>) return not_less_of_both_bf16(a, b);
    return not_less_of_both_f16(a, b);
}
#else
template <class Half>
__device__ std::uint32_t greater_of_both(std::uint32_t, std::uint32_t) = delete;
template <class Half>
__device__ std::uint32_t not_less_of_both(std::uint32_t, std::uint32_t) = delete;
#endif

/// What a warp knows of its chunk, of elements as they are, or less an origin: the greatest z, and
/// the sum of the lane whose first element that is the greatest is taken out.
template <class T, bool Aligned, bool Plain>
struct ExpChunk {
    using V = fp::Arithmetic<T>;
    using ChunkOf = Chunk<T, Aligned>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows, lanes = ChunkOf::lanes;
    static constexpr bool in_pairs = Plain && fp::has_16_bits<T> && DETREDUCE_GPU_HAS_BF16;
    V origin, greatest;
    int rows_there; ///< of the others the terms are +0
    spec::ExpReference<V> reference;
    bool is_owner; ///< of the element that is taken out
    int lane;      ///< of that element
    V sum;         ///< of that lane, without it

    /// Of a tile of m elements. `space`: the warp's lanes, in shared memory.
    [[nodiscard]] static __device__ __forceinline__ ExpChunk of(const ChunkOf& chunk, V origin, int m, V* space) {
        const int left = m - static_cast<int>(threadIdx.x / warp_size) * (rows * lanes);
        ExpChunk c{origin, V{}, left <= 0 ? 0 : (left + lanes - 1) / lanes, {}, false, 0, V{}};
        const std::uint32_t rows_of_greatest = c.find_greatest(chunk);
        c.reference = spec::ExpReference<V>::at(c.greatest);
        c.take_out(chunk, rows_of_greatest, reinterpret_cast<T*>(space));
        return c;
    }
    [[nodiscard]] __device__ __forceinline__ V z(V x) const {
        if constexpr (Plain) return x;
        return x - origin;
    }
    [[nodiscard]] __device__ __forceinline__ spec::ExpTerm<V> term(const ChunkOf& chunk, int r, int k) const {
        return reference.template term<T>(z(chunk.here(r, k)));
    }
    /// Each of the thread's lanes: f(r, k, term, sum) adds a term; absent(r, k) is called of rows
    /// that are not there. Two rows at once: the terms of an absent one are +0, or else the chunk
    /// is so low that it counts for nothing in any row that is not special.
    template <class F, class Absent>
    __device__ __forceinline__ void add_rows(const ChunkOf& chunk, V (&sums)[K], const F& f,
                                             const Absent& absent) const {
#pragma unroll
        for (int k = 0; k < K; ++k)
            sums[k] = 0;
#pragma unroll
        for (int first = 0; first < rows; first += 2) {
            if (first < rows_there) { // all threads, or none
#pragma unroll
                for (int r = first; r < first + 2; ++r) {
#pragma unroll
                    for (int k = 0; k < K; ++k)
                        sums[k] = f(r, k, term(chunk, r, k), sums[k]);
                }
            } else {
#pragma unroll
                for (int i = 0; i < 2 * K; ++i)
                    absent(first + i / K, i % K);
            }
        }
    }
    __device__ __forceinline__ void add_rows(const ChunkOf& chunk, V (&sums)[K]) const {
        add_rows(
            chunk, sums, [](int, int, const auto& t, V sum) { return t.added_to(sum); }, [](int, int) {});
    }
    /// The lanes of the thread, of which one is another, to where the team looks for them.
    __device__ __forceinline__ void put(const V (&sums)[K], V* space) const {
        put_lanes(space, sums);
        if (is_owner) space[lane] = sum;
    }

  private:
    /// The warp's greatest z, and a bit for each row in which the thread has it.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t find_greatest(const ChunkOf& chunk) {
        std::uint32_t found = 0;
        V most = spec::exp_lowest<V>;
        if constexpr (in_pairs) {
            std::uint32_t of_row[rows], of_both = both_of(chunk, 0);
            of_row[0] = of_both;
#pragma unroll
            for (int r = 1; r < rows; ++r) {
                of_row[r] = both_of(chunk, r); // what is not there is −∞
                of_both = greater_of_both<T>(of_both, of_row[r]);
            }
            most = greater_number(greater_number(most, ChunkOf::low(of_both)), ChunkOf::high(of_both));
            greatest = greatest_of_warp(most);
            const std::uint32_t bound = rounded_to<T>(greatest).bits * 0x10001u; // it is one of them, or exp_lowest
#pragma unroll
            for (int r = 0; r < rows; ++r)
                found |= not_less_of_both<T>(of_row[r], bound) & 0x10001u << r;
            return (found | found >> 16) & 0xffffu;
        } else {
            V of_row[rows];
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                of_row[r] = spec::exp_lowest<V>;
#pragma unroll
                for (int k = 0; k < K; ++k)
                    of_row[r] = greater_number(of_row[r], z(chunk.at(r, k)));
                most = greater_number(most, of_row[r]);
            }
            greatest = greatest_of_warp(most);
#pragma unroll
            for (int r = 0; r < rows; ++r)
                found |= of_row[r] >= greatest ? 1u << r : 0u;
            return found;
        }
    }
    /// The greatest of the first, third, … and of the second, fourth, … of a row.
    [[nodiscard]] static __device__ __forceinline__ std::uint32_t both_of(const ChunkOf& chunk, int r) {
        const auto& w = chunk.words[r].w;
        return greater_of_both<T>(greater_of_both<T>(w[0], w[1]), greater_of_both<T>(w[2], w[3]));
    }
    /// Finds the first element that is the greatest, and adds up its lane.
    __device__ __forceinline__ void take_out(const ChunkOf& chunk, std::uint32_t rows_of_greatest, T* space) {
        // Of numbers that count as exp_lowest the first is taken out, whatever they are.
        const bool some = greatest > spec::exp_lowest<V> && rows_of_greatest != 0;
        const auto found = static_cast<std::uint32_t>(__ffs(static_cast<int>(rows_of_greatest)));
        const std::uint32_t row = warp_min(some ? found - 1 : 0x7fffffffu);
        const std::uint32_t thread = threadIdx.x % warp_size;
        const bool known = row < rows;
        const std::uint32_t of_row = known ? row : 0;
        const std::uint32_t owners = votes_of_warp(known && (rows_of_greatest >> of_row & 1u) != 0);
        const auto owner = known ? static_cast<std::uint32_t>(__ffs(static_cast<int>(owners))) - 1 : 0u;
        is_owner = thread == owner;
        if (is_owner) {
#pragma unroll
            for (int r = 0; r < rows; ++r)
                reinterpret_cast<uint4*>(space)[r] = __builtin_bit_cast(uint4, chunk.words[r]);
        }
        sync_warp();
        const bool is = z(fp::widen(space[of_row * K + thread % K])) >= greatest;
        const std::uint32_t numbers = votes_of_warp(is) & ((1u << K) - 1);
        const auto k = known ? static_cast<std::uint32_t>(__ffs(static_cast<int>(numbers))) - 1 : 0u;
        const V own = z(fp::widen(space[thread % rows * K + k]));
        V value = reference.template term<T>(own).value();
        if (thread % rows == of_row && own == own) value = 0;
        sync_warp(); // the space is used again
        lane = static_cast<int>(owner * K + k);
        sum = shuffle_from(value, 0);
#pragma unroll
        for (int r = 1; r < rows; ++r)
            sum = sum + shuffle_from(value, r);
    }
};

/// The state of a tile, of each warp's chunk, whose lanes it has put down: to the first thread, and
/// the greatest to all.
template <int Warps, class T, int K>
__device__ __forceinline__ spec::ExpState<T> state_of_warps(fp::Arithmetic<T> greatest, Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    if constexpr (Warps == 1) {
        sync_team();
        return {greatest, merged_lanes<1, T, K>(s, [](int, int, V left, V) { return left; })};
    } else {
        if (threadIdx.x % warp_size == 0) s.greatest[threadIdx.x / warp_size] = greatest;
        sync_team();
        V most[Warps]; // of chunks, of pairs, …
#pragma unroll
        for (int w = 0; w < Warps; ++w)
            most[w] = s.greatest[w];
        // The greatest of a few chunks is known at once: one merge each of the first threads.
        V left = most[0], right = most[0];
        int node = 0;
#pragma unroll
        for (int step = 1; step < Warps; step *= 2) {
#pragma unroll
            for (int w = 0; w < Warps; w += 2 * step, ++node) {
                if (static_cast<int>(threadIdx.x) == node) {
                    left = most[w];
                    right = most[w + step];
                }
                most[w] = most[w + step] > most[w] ? most[w + step] : most[w];
            }
        }
        if (threadIdx.x < Warps - 1) s.merge[threadIdx.x] = spec::ExpMerge<T>::of(left, right);
        sync_team();
        return {most[0], merged_lanes<Warps, T, K>(s, [&](int of, int j, V a, V b) {
                    const spec::ExpMerge<T>& by = s.merge[of];
                    return j == 0 ? by.with_peak(a, b) : by(a, b);
                })};
    }
}
template <class T, int K>
__device__ __forceinline__ spec::ExpState<T> team_state(fp::Arithmetic<T> greatest, Shared<T>& s) {
    return for_warps([&](auto warps) { return state_of_warps<decltype(warps)::value, T, K>(greatest, s); });
}

} // namespace detreduce::cuda::row_kernels
