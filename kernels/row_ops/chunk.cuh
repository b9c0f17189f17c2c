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

/// The bounds of the terms, as 16-bit elements, two in a word.
template <class T>
struct TermBounds;
template <>
struct TermBounds<bfloat16> {
    static constexpr std::uint16_t lowest = 0xc2ae, highest = 0x42b0;
};
template <>
struct TermBounds<float16> {
    static constexpr std::uint16_t lowest = 0xd570, highest = 0x5580;
};
template <class T>
inline constexpr bool
    bounds_are_those_of_terms = fp::widen(T::from_bits(TermBounds<T>::lowest)) ==
                                spec::ExpTermConstants<float>::lowest&& fp::widen(
                                    T::from_bits(TermBounds<T>::highest)) == spec::ExpTermConstants<float>::highest;
static_assert(bounds_are_those_of_terms<bfloat16> && bounds_are_those_of_terms<float16>);
template <class T>
inline constexpr std::uint32_t lowest_pair = TermBounds<T>::lowest * 0x10001u;
template <class T>
inline constexpr std::uint32_t highest_pair = TermBounds<T>::highest * 0x10001u;

/// Elements that are exponentiated as they are, not beyond where terms end; two at a time where they are two in a register.
template <class T, int K>
__device__ __forceinline__ void clamp(Pack<T, K>&) {}
#if DETREDUCE_GPU_HAS_BF16
template <int K>
__device__ __forceinline__ void clamp(Pack<bfloat16, K>& pack) {
    std::uint32_t words[K / 2];
    __builtin_memcpy(words, &pack, sizeof pack);
#pragma unroll
    for (int i = 0; i < K / 2; ++i)
        clamp_both_bf16(words[i], lowest_pair<bfloat16>, highest_pair<bfloat16>);
    __builtin_memcpy(&pack, words, sizeof pack);
}
template <int K>
__device__ __forceinline__ void clamp(Pack<float16, K>& pack) {
    std::uint32_t words[K / 2];
    __builtin_memcpy(words, &pack, sizeof pack);
#pragma unroll
    for (int i = 0; i < K / 2; ++i)
        clamp_both_f16(words[i], lowest_pair<float16>, highest_pair<float16>);
    __builtin_memcpy(&pack, words, sizeof pack);
}
inline constexpr bool clamps_pairs = true;
#else
inline constexpr bool clamps_pairs = false;
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
    using Upper = BufferOf<PartialLevel<acc::Rounded<V>>, most_warps>;
    union {
        alignas(16) V lane[most_warps][spec::TreeOrder<sizeof(T)>::lanes];
        Upper upper;
    };
    V total;
    V greatest[most_warps];
};

/// Lanes of the block's chunks, merged in the order of a tile: to all threads.
template <class T, int K>
__device__ __forceinline__ fp::Arithmetic<T> block_sum(const fp::Arithmetic<T> (&sum)[K], Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    constexpr int lanes = spec::TreeOrder<sizeof(T)>::lanes;
    const int thread = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    __builtin_memcpy(&s.lane[warp][thread * K], sum, sizeof sum);
    __syncthreads();
    if (warps > 1) {
        for (int j = threadIdx.x; j < lanes; j += static_cast<int>(blockDim.x)) {
            V part[most_warps];
#pragma unroll
            for (int w = 0; w < most_warps; ++w)
                part[w] = w < warps ? s.lane[w][j] : V(-0.0);
#pragma unroll
            for (int step = 1; step < most_warps; step *= 2) {
#pragma unroll
                for (int w = 0; w < most_warps; w += 2 * step)
                    part[w] = part[w] + part[w + step];
            }
            s.lane[0][j] = part[0];
        }
        __syncthreads();
    }
    if (warp == 0) {
        acc::Rounded<V> lane[K];
#pragma unroll
        for (int k = 0; k < K; ++k)
            lane[k] = {s.lane[0][thread + warp_size * k]};
        const auto total = combine_lanes(lane);
        if (thread == 0) s.total = total.sum;
    }
    __syncthreads();
    return s.total;
}

} // namespace detreduce::cuda::row_kernels
