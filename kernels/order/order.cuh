// The kernels of ops that compare. Warps take tiles of 32 × 4 × 16 bytes and keep the largest key (spec/order_key.hpp); for an index, each
// thread also keeps in which of its tiles that was first, and looks for the element itself only at the end. So the time does not
// depend on the data.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/acc/finish.hpp>
#include <detreduce/spec/order_key.hpp>

#include "dependent_launch.cuh"
#include "flat/load.cuh"
#include "flat/tile.cuh"
#include "order/launch.hpp"

namespace detreduce::cuda::order {

inline constexpr int max_threads = 256, max_warps = max_threads / warp_size, tile_vectors = order_tile_vectors;
using detreduce::no_index;

struct Vectors {
    uint4 v[tile_vectors];
};

/// The input: what lies before the first 16-byte boundary, whole tiles, and the rest.
template <class T>
struct Tiles {
    static constexpr std::uint32_t per_vector = 16 / sizeof(T), elements = tile_vectors * warp_size * per_vector;
    const T* x;
    std::uint64_t full;      ///< whole tiles
    std::uint32_t head, odd; ///< elements before them; before and behind them

    Tiles(const T* input, std::uint64_t n) : x(input) {
        const std::uint64_t before = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(T);
        head = static_cast<std::uint32_t>(before < n ? before : n);
        full = (n - head) / elements;
        odd = static_cast<std::uint32_t>(n - full * elements);
    }
    /// The index of element e of the thread's i-th vector in a tile.
    [[nodiscard]] __device__ __forceinline__ std::uint64_t index(std::uint64_t tile, int i, int e) const {
        return head + tile * elements + (i * warp_size + threadIdx.x % warp_size) * per_vector + e;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint64_t odd_index(std::uint32_t i) const {
        return i < head ? i : i + full * elements;
    }
    [[nodiscard]] __device__ __forceinline__ Vectors load(std::uint64_t tile) const {
        const T* const mine = x + index(tile, 0, 0); // the others lie at distances that are known now
        Vectors t;
#pragma unroll
        for (int i = 0; i < tile_vectors; ++i)
            t.v[i] = load16<Source::aligned_input>(mine + i * warp_size * per_vector);
        return t;
    }
};

/// Keys of T, 16 bytes at a time. V is known when this is compiled, so that turning a number into its key takes two or three instructions.
template <class T, spec::View V>
struct Keys {
    using Map = spec::KeyMap<T>;
    using Wide = std::conditional_t<fp::is_f64<T>, std::int64_t, std::int32_t>;
    static constexpr bool in_pairs = fp::has_16_bits<T>; ///< two keys in a register
    /// The largest key so far.
    using Running = std::conditional_t<in_pairs, std::uint32_t, Wide>;
    Map map;

    __device__ __forceinline__ explicit Keys(NanPolicy nan) : map(Map::of(V, nan)) {}
    /// `m` may be of another view, unless V is magnitude.
    __host__ __device__ __forceinline__ explicit Keys(const Map& m) : map(m) {}

    static __device__ __forceinline__ Running nothing() {
        return in_pairs ? static_cast<Running>(0x80008000u) : static_cast<Running>(Map::lowest);
    }
    __device__ __forceinline__ void take(Running& best, const uint4& v) const {
        if constexpr (in_pairs) {
            const std::uint32_t words[] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (const std::uint32_t w : words)
                take_pair(best, w);
        } else {
            T elements[16 / sizeof(T)];
            __builtin_memcpy(elements, &v, sizeof v);
#pragma unroll
            for (const T x : elements) {
                const Wide k = map.key(x);
                best = k > best ? k : best;
            }
        }
    }
    [[nodiscard]] __device__ __forceinline__ Wide settled(Running best) const {
        if constexpr (in_pairs) {
            const Wide high = static_cast<Wide>(best) >> 16, low = static_cast<Wide>(best << 16) >> 16;
            return map.settled(static_cast<typename Map::Key>(high > low ? high : low));
        } else {
            return map.settled(best);
        }
    }
    [[nodiscard]] __device__ __forceinline__ Wide settled_key(T x) const {
        return map.settled(map.key(x));
    }

  private:
    /// As Map::key(), for both halves of w.
    __device__ __forceinline__ void take_pair(std::uint32_t& best, std::uint32_t w) const {
        constexpr std::uint32_t both = 0x10001u;
        w &= map.keep * both;
        if constexpr (V != spec::View::magnitude) {
            std::uint32_t negative; // each half filled with its sign, for which __byte_perm has no words
            asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(negative) : "r"(w));
            w ^= (negative & (Map::magnitude_mask * both)) ^ (map.flip * both);
        }
        best = __viaddmax_s16x2(w, map.add * both, best);
    }
};

struct Greater {
    template <class Value>
    __device__ __forceinline__ bool operator()(Value a, Value b) const {
        return a > b;
    }
};
struct Less {
    template <class Value>
    __device__ __forceinline__ bool operator()(Value a, Value b) const {
        return a < b;
    }
};
struct Beats {
    __device__ __forceinline__ bool operator()(const OrderPartial& a, const OrderPartial& b) const {
        return a.beats(b);
    }
};

/// The best of the block's values, for all of its threads, all of which call this.
template <class Better, class Value>
__device__ __forceinline__ Value best_of_block(Value mine) {
    __shared__ Value of_warp[max_warps];
    const Better better;
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        const Value other = shuffle_down(mine, distance);
        if (better(other, mine)) mine = other;
    }
    if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = mine;
    __syncthreads();
    Value best = of_warp[0];
    for (int w = 1; w < static_cast<int>(blockDim.x) / warp_size; ++w) {
        if (better(of_warp[w], best)) best = of_warp[w];
    }
    return best;
}

/// Where the result goes.
struct Result {
    void* out;
    DType output;
};

/// Not inlined: it is much code for one thread, once a launch.
template <class T>
__device__ __noinline__ void store_element(const Result& result, T x) {
    acc::store_as(result.out, result.output, [&](auto t) { return fp::round_to<decltype(t)>(x); });
}

template <class T, spec::View V, bool Index>
__device__ __forceinline__ void store(const Result& result, const Keys<T, V>& keys, const OrderPartial& found) {
    if constexpr (Index) {
        *static_cast<std::uint64_t*>(result.out) = found.index;
    } else {
        store_element<T>(result, keys.map.element(static_cast<typename spec::KeyMap<T>::Key>(found.key)));
    }
}

/// What a thread has seen.
template <class T, spec::View V, bool Index>
struct Share {
    using Keys = order::Keys<T, V>;
    using Wide = typename Keys::Wide;
    const Tiles<T>& tiles;
    const Keys& keys;
    std::uint64_t first, stride; ///< the warp's first tile; warps in the grid
    Wide best = spec::KeyMap<T>::lowest, odd_best = spec::KeyMap<T>::lowest;
    std::uint32_t turn = 0;               ///< of the warp's tiles, the first with `best`
    std::uint64_t odd_best_at = no_index; ///< the first odd element with odd_best

    __device__ __forceinline__ void walk() {
        auto running = Keys::nothing();
        std::uint32_t now = 0;
        for (std::uint64_t tile = first; tile < tiles.full; tile += stride, ++now) {
            const Vectors current = tiles.load(tile);
            if constexpr (Index) running = Keys::nothing();
#pragma unroll
            for (int i = 0; i < tile_vectors; ++i)
                keys.take(running, current.v[i]);
            if constexpr (Index) {
                const Wide k = keys.settled(running);
                if (k > best) {
                    best = k;
                    turn = now;
                }
            }
        }
        if constexpr (!Index) best = keys.settled(running);
    }
    __device__ __forceinline__ void walk_odd() {
        const std::uint32_t threads = gridDim.x * blockDim.x;
        for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < tiles.odd; i += threads) {
            const std::uint64_t at = tiles.odd_index(i);
            const Wide k = keys.settled_key(load_number(tiles.x + at));
            if (odd_best_at != no_index && k <= odd_best) continue;
            odd_best = k;
            odd_best_at = at;
        }
    }
    /// The lowest index with this key that the thread has seen; it has seen no larger one.
    [[nodiscard]] __device__ __forceinline__ std::uint64_t find(Wide key) const {
        std::uint64_t found = odd_best == key ? odd_best_at : no_index;
        if (first >= tiles.full || best != key) return found;
        const std::uint64_t tile = first + turn * stride;
        const Vectors t = tiles.load(tile);
#pragma unroll
        for (int i = tile_vectors - 1; i >= 0; --i) {
            T elements[Tiles<T>::per_vector];
            __builtin_memcpy(elements, &t.v[i], sizeof elements);
#pragma unroll
            for (int e = Tiles<T>::per_vector - 1; e >= 0; --e) {
                const std::uint64_t at = tiles.index(tile, i, e);
                if (keys.settled_key(elements[e]) == key && at < found) found = at;
            }
        }
        return found;
    }
};

/// One block alone stores the result; others leave what they found to finish_kernel.
template <class T, spec::View V, bool Index>
__global__ void __launch_bounds__(max_threads, 4)
    scan_kernel(const __grid_constant__ Tiles<T> tiles, NanPolicy nan, OrderPartial* partials, const Result result) {
    if (gridDim.x > 1) let_next_kernel_start();
    const Keys<T, V> keys(nan);
    const std::uint32_t warps = blockDim.x / warp_size;
    Share<T, V, Index> share{tiles, keys, std::uint64_t{blockIdx.x} * warps + threadIdx.x / warp_size,
                             std::uint64_t{gridDim.x} * warps};
    share.walk();
    share.walk_odd();
    const auto mine = share.best > share.odd_best ? share.best : share.odd_best;
    const auto key = best_of_block<Greater>(mine);
    OrderPartial found{key, 0};
    if constexpr (Index) found.index = best_of_block<Less>(share.find(key));
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1) {
        store<T, V, Index>(result, keys, found);
    } else {
        partials[blockIdx.x] = found;
    }
}

/// The best of what `count` blocks found.
template <class T, spec::View V, bool Index>
__global__ void __launch_bounds__(max_threads)
    finish_kernel(const OrderPartial* partials, std::uint32_t count, NanPolicy nan, const Result result) {
    wait_for_previous_kernel();
    const Keys<T, V> keys(nan);
    OrderPartial best{INT64_MIN, no_index};
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        const auto other = load_item<Source::partials>(partials + i);
        if (other.beats(best)) best = other;
    }
    best = best_of_block<Beats>(best);
    if (threadIdx.x == 0) store<T, V, Index>(result, keys, best);
}

} // namespace detreduce::cuda::order
