// What a thread holds of a row: its lanes of one chunk, in registers (sequence/tile.cuh has the order). A warp has a chunk, a block of as many warps as the row
// has chunks, 8 at most, a tile.
#pragma once

#include <detreduce/acc/finish.hpp>
#include <detreduce/acc/rounded.hpp>

#include "sequence/kernels.cuh"
#include "rounded.cuh"
#include "row_ops/rows.hpp"

namespace detreduce::cuda::row_kernels {

inline constexpr int most_warps = spec::chunks_per_tile;

/// Numbers as they are stored, NaN as the canonical one.
template <class Out, class V>
__device__ __forceinline__ Out stored(V v) {
    return rounded_to<Out>(v);
}
template <class Out, class V, int K>
__device__ __forceinline__ Pack<Out, K> stored_all(const V (&v)[K]) {
    Pack<Out, K> pack;
#pragma unroll
    for (int k = 0; k < K; ++k)
        pack.v[k] = stored<Out>(v[k]);
    return pack;
}
#if DETREDUCE_GPU_HAS_BF16
/// Two at a time: the conversion makes every NaN 7fff, the greatest signed integer, so that the lesser of it and the canonical one is canonical, and all else stays.
template <class Half, int K, class Convert>
__device__ __forceinline__ Pack<Half, K> stored_pairs(const float (&v)[K], const Convert& convert) {
    constexpr std::uint32_t nan = fp::Format<Half>::canonical_nan * 0x10001u;
    std::uint32_t words[K / 2];
#pragma unroll
    for (int i = 0; i < K / 2; ++i)
        words[i] = __vmins2(convert(v[2 * i], v[2 * i + 1]), nan);
    Pack<Half, K> pack;
    __builtin_memcpy(&pack, words, sizeof pack);
    return pack;
}
template <>
__device__ __forceinline__ Pack<bfloat16, 8> stored_all<bfloat16, float, 8>(const float (&v)[8]) {
    return stored_pairs<bfloat16>(v, [](float low, float high) { return both_bf16_of_f32(low, high); });
}
template <>
__device__ __forceinline__ Pack<float16, 8> stored_all<float16, float, 8>(const float (&v)[8]) {
    return stored_pairs<float16>(v, [](float low, float high) { return both_f16_of_f32(low, high); });
}
#endif

/// Where results of a row go, from its number `first` on: elements of T, or, of 16-bit ones, also of the format that they are added in. Which is the same for all threads: a
/// kernel for each would be as much code again, for the same time.
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
    Pack<T, K> packs[rows];

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
#pragma unroll
        for (int r = 0; r < rows; ++r) {
#pragma unroll
            for (int k = 0; k < K; ++k)
                packs[r].v[k] = absent;
            const int there = left - r * lanes;
            if constexpr (Aligned) {
                if (there > 0) packs[r] = load_pack<Source::aligned_input, T, K>(own + r * lanes);
            } else {
                if (fp::has_16_bits<T> && there >= K) {
                    packs[r] = load_pack<Source::any_input, T, K>(own + r * lanes);
                } else {
#pragma unroll
                    for (int k = 0; k < K; ++k) {
                        if (k < there) packs[r].v[k] = load_number(own + r * lanes + k);
                    }
                }
            }
        }
    }
    [[nodiscard]] __device__ __forceinline__ V at(int r, int k) const {
        return wide(packs[r], k);
    }
    /// Number k of a pack. (item_at() is volatile.)
    [[nodiscard]] static __device__ __forceinline__ V wide(const Pack<T, K>& pack, int k) {
        return widen_now(pack, k);
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

    /// f(r, k), a number of V, for each element that is there, to where it belongs in the `m` results of the tile at `out`.
    template <class F>
    __device__ __forceinline__ static void store(const RowOut<T>& out, int m, const F& f) {
        const int left = m - first();
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int there = left - r * lanes;
            if (there <= 0) continue;
            V value[K];
#pragma unroll
            for (int k = 0; k < K; ++k)
                value[k] = f(r, k);
            if (out.is_wide()) {
                store_row(out.template at<V>(first() + r * lanes), there, value);
            } else {
                store_row(out.template at<T>(first() + r * lanes), there, value);
            }
        }
    }

  private:
    template <class Out>
    static __device__ __forceinline__ void store_row(Out* p, int there, const V (&value)[K]) {
        const Pack<Out, K> pack = stored_all<Out>(value);
        if constexpr (Aligned) {
            uint4 raw[sizeof pack / 16];
            __builtin_memcpy(raw, &pack, sizeof pack);
#pragma unroll
            for (int i = 0; i < static_cast<int>(sizeof pack / 16); ++i)
                reinterpret_cast<uint4*>(p)[i] = raw[i];
        } else {
#pragma unroll
            for (int k = 0; k < K; ++k) {
                if (k < there) p[k] = pack.v[k];
            }
        }
    }
    template <class Item>
    static __device__ __forceinline__ V widen_now(const Pack<Item, K>& pack, int k) {
        return fp::widen(pack.v[k]);
    }
    static __device__ __forceinline__ float widen_now(const Pack<bfloat16, K>& pack, int k) {
        const std::uint32_t word = word_of_item(pack, k);
        return __uint_as_float(k % 2 == 0 ? word << 16 : word & 0xffff0000u);
    }
    static __device__ __forceinline__ float widen_now(const Pack<float16, K>& pack, int k) {
        const std::uint32_t word = word_of_item(pack, k);
        return k % 2 == 0 ? f32_of_low_f16(word) : f32_of_high_f16(word);
    }
};

/// Shared memory of a block.
template <class T>
struct Shared {
    using V = fp::Arithmetic<T>;
    template <class Acc>
    using Upper = BufferOf<PartialLevel<Acc>, most_warps>;
    union {
        alignas(16) V lane[most_warps][spec::TreeOrder<sizeof(T)>::lanes];
        Upper<acc::Rounded<V>> upper;
        Upper<spec::ExpState<T>> upper_states;
    };
    V total;
    V greatest[most_warps];
    spec::ExpMerge<T> merge[most_warps - 1]; ///< of chunks: four of neighbours, two of pairs, one of halves
    spec::ExpState<T> state;
    spec::ExpSum<T> sum;
};

/// Lane by lane, the lanes of the block's chunks as merge(node, lane, left, right) merges two, and those added up in the order of a tile: to the first thread.
template <class T, int K, class Merge>
__device__ __forceinline__ fp::Arithmetic<T> merged_lanes(Shared<T>& s, const Merge& merge) {
    using V = fp::Arithmetic<T>;
    constexpr int lanes = spec::TreeOrder<sizeof(T)>::lanes;
    const int thread = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    if (warps > 1) {
        for (int j = threadIdx.x; j < lanes; j += static_cast<int>(blockDim.x)) {
            V part[most_warps];
#pragma unroll
            for (int w = 0; w < most_warps; ++w)
                part[w] = w < warps ? s.lane[w][j] : V(-0.0);
            int node = 0;
#pragma unroll
            for (int step = 1; step < most_warps; step *= 2) {
#pragma unroll
                for (int w = 0; w < most_warps; w += 2 * step, ++node)
                    if (w + step < warps) part[w] = merge(node, j, part[w], part[w + step]);
            }
            s.lane[0][j] = part[0];
        }
        __syncthreads();
    }
    if (warp != 0) return {};
    acc::Rounded<V> lane[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
        lane[k] = {s.lane[0][thread + warp_size * k]};
    return combine_lanes(lane).sum;
}

/// Lanes of the block's chunks, added in the order of a tile: to all threads.
template <class T, int K>
__device__ __forceinline__ fp::Arithmetic<T> block_sum(const fp::Arithmetic<T> (&sum)[K], Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    __builtin_memcpy(&s.lane[threadIdx.x / warp_size][threadIdx.x % warp_size * K], sum, sizeof sum);
    __syncthreads();
    const V total = merged_lanes<T, K>(s, [](int, int, V left, V right) { return left + right; });
    if (threadIdx.x == 0) s.total = total;
    __syncthreads();
    return s.total;
}

/// The state of a tile, of each warp's greatest z and lanes relative to it: to the first thread, and the greatest to all.
template <class T, int K>
__device__ __forceinline__ spec::ExpState<T> block_state(fp::Arithmetic<T> greatest, const fp::Arithmetic<T> (&sum)[K],
                                                         Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    const int thread = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    __builtin_memcpy(&s.lane[warp][thread * K], sum, sizeof sum);
    if (thread == 0) s.greatest[warp] = greatest;
    __syncthreads();
    if (threadIdx.x < most_warps - 1) { // one merge each: the greatest of a few chunks is known at once
        const int node = static_cast<int>(threadIdx.x);
        const int step = node < 4   ? 1
                         : node < 6 ? 2
                                    : 4,
                  first = (node < 4   ? node
                           : node < 6 ? node - 4
                                      : 0) *
                          2 * step;
        const auto greatest_of = [&](int from) {
            V most = spec::exp_lowest<V>;
            for (int w = from; w < from + step && w < warps; ++w)
                most = s.greatest[w] > most ? s.greatest[w] : most;
            return most;
        };
        s.merge[node] = spec::ExpMerge<T>::of(greatest_of(first), greatest_of(first + step));
    }
    V most = s.greatest[0];
    for (int w = 1; w < warps; ++w)
        most = s.greatest[w] > most ? s.greatest[w] : most;
    __syncthreads();
    const V total = merged_lanes<T, K>(s, [&](int node, int j, V left, V right) {
        const spec::ExpMerge<T>& by = s.merge[node];
        return j == 0 ? by.with_peak(left, right) : by(left, right);
    });
    return {most, total};
}

/// The greatest of a warp's numbers, of which none is NaN.
template <class V>
__device__ __forceinline__ V greatest_of_warp(V most) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        const V other = shuffle_xor(most, distance);
        most = other > most ? other : most;
    }
    return most;
}

/// What a warp knows of its chunk, of elements less `origin`: the greatest z, and which of the thread's elements it is that is taken out of the sum.
template <class T, bool Aligned>
struct ExpChunk {
    using V = fp::Arithmetic<T>;
    using ChunkOf = Chunk<T, Aligned>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows, lanes = ChunkOf::lanes;
    V origin, greatest;
    int taken_out;  ///< r·lanes + k
    int rows_there; ///< of the others the terms are +0
    spec::ExpReference<V> reference;

    /// Of a tile of m elements.
    [[nodiscard]] static __device__ __forceinline__ ExpChunk of(const ChunkOf& chunk, V origin, int m) {
        const int left = m - static_cast<int>(threadIdx.x) / warp_size * (rows * lanes);
        ExpChunk c{origin, V{}, 0, left <= 0 ? 0 : (left + lanes - 1) / lanes, {}};
        V most = spec::exp_lowest<V>;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (r >= c.rows_there) continue; // all threads, or none
#pragma unroll
            for (int k = 0; k < K; ++k) {
                const V z = c.z(chunk, r, k);
                most = z > most ? z : most;
            }
        }
        c.greatest = greatest_of_warp(most);
        constexpr int none = rows * lanes * 2;
        int first = none;
        if (most == c.greatest) {
#pragma unroll
            for (int i = rows * K - 1; i >= 0; --i) {
                if (i / K >= c.rows_there) continue;
                if (spec::not_below(c.z(chunk, i / K, i % K), spec::exp_lowest<V>) == c.greatest)
                    first = i / K * lanes + i % K;
            }
        }
        const int own = static_cast<int>(threadIdx.x) % warp_size * K;
        c.taken_out = static_cast<int>(warp_min(static_cast<std::uint32_t>(first + own))) - own;
        c.reference = spec::ExpReference<V>::at(c.greatest);
        return c;
    }
    [[nodiscard]] __device__ __forceinline__ V z(const ChunkOf& chunk, int r, int k) const {
        return chunk.at(r, k) - origin;
    }
    [[nodiscard]] __device__ __forceinline__ spec::ExpTerm<V> term(const ChunkOf& chunk, int r, int k) const {
        return reference.template term<T>(z(chunk, r, k));
    }
    /// Lane k of the sum, of the terms of its rows.
    template <class Term>
    __device__ __forceinline__ void add_rows(V (&lane)[K], const Term& term_of) const {
#pragma unroll
        for (int k = 0; k < K; ++k)
            lane[k] = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (r >= rows_there) continue;
#pragma unroll
            for (int k = 0; k < K; ++k)
                lane[k] = lane[k] + (r * lanes + k == taken_out ? V{0} : term_of(r, k));
        }
    }
    __device__ __forceinline__ void add_rows(const ChunkOf& chunk, V (&lane)[K]) const {
        add_rows(lane, [&](int r, int k) { return term(chunk, r, k).value(); });
    }
};

} // namespace detreduce::cuda::row_kernels
