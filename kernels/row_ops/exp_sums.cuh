// Sums of the exponentials of rows of 16-bit elements, a warp a tile: so much is to be done for each element that a warp's next loads must be in flight
// meanwhile, and there are no registers for two chunks. So a chunk is added row by row, and each row's place is taken by that of the next chunk, of this tile
// or of the warp's next one.
#pragma once

#include "sequence/words.cuh"
#include "sequence/groups.cuh"
#include "row_ops/chunk.cuh"

namespace detreduce::cuda::row_kernels {

/// Stands for an element that is not there: its term is +0.
template <class T>
[[nodiscard]] __device__ __forceinline__ T without_term() {
    return fp::from_bits<T>(static_cast<std::uint16_t>(fp::infinity_bits<T> | fp::sign_mask<T>));
}

/// A thread's elements of a chunk, under way, row by row: of rows that are aligned those of its own lanes.
template <class T, bool Aligned>
struct ChunkUnderWay {
    static constexpr int rows = spec::rows_per_chunk, lanes = spec::TreeOrder<2>::lanes;
    static constexpr bool has_first = false;
    uint4 raw[rows];

    struct Place {
        const T* p; ///< the thread's first element
        int left;   ///< how many there are from there to the end of the tile
        [[nodiscard]] __device__ __forceinline__ int left_of_chunk() const { return left + own(); }
    };
    [[nodiscard]] static __device__ __forceinline__ int own() { return threadIdx.x % warp_size * 8; }
    /// Of a chunk at p, of a tile that ends with `left` elements, where the row goes on for `more`.
    [[nodiscard]] static __device__ __forceinline__ Place place(const T* p, int left, bool) {
        return {p + own(), left - own()};
    }
    [[nodiscard]] static __device__ __forceinline__ Place next(const Place& at, int chunk) {
        return {at.p + chunk, at.left - chunk};
    }
    [[nodiscard]] static __device__ __forceinline__ bool is_full(const Place& at) {
        return at.left_of_chunk() >= rows * lanes;
    }

    __device__ __forceinline__ void load(int r, const Place& at) {
        load16_once_if(at.left - r * lanes >= 8, at.p + r * lanes, raw[r]);
    }
    /// Row r of a full chunk.
    [[nodiscard]] __device__ __forceinline__ Pack<T, 8> take(int r, const Place&) const {
        Pack<T, 8> pack;
        __builtin_memcpy(&pack, &raw[r], sizeof pack);
        return pack;
    }
    /// Of any chunk, row r of which is in `pack` as far as it was loaded.
    static __device__ __forceinline__ void complete(Pack<T, 8>& pack, int r, const Place& at) {
        const int there = at.left - r * lanes;
        if (there < 8) {
#pragma unroll
            for (int k = 0; k < 8; ++k)
                pack.v[k] = k < there ? load_number(at.p + r * lanes + k) : without_term<T>();
        }
    }
};
/// Of others the words of sequence/words.cuh.
template <class T>
struct ChunkUnderWay<T, false> {
    static constexpr bool has_first = true;
    using Words = WordsOfChunk<T>;
    using Place = WordPlace<T>;
    Words words;

    [[nodiscard]] static __device__ __forceinline__ Place place(const T* p, int left, bool more) {
        return {p, left, left + more};
    }
    [[nodiscard]] static __device__ __forceinline__ Place next(const Place& at, int chunk) {
        return {at.p + chunk, at.left - chunk, at.readable - chunk};
    }
    [[nodiscard]] static __device__ __forceinline__ bool is_full(const Place& at) { return Words::is_full(at); }
    __device__ __forceinline__ void load(int r, const Place& at) {
        const bool odd = at.odd();
        if (r == 0) words.load_alone(at, odd, without_term<T>());
        words.load_if(Words::is_whole(r, at, odd), r, Words::own_words(at, odd));
    }
    [[nodiscard]] __device__ __forceinline__ Pack<T, 8> take(int r, const Place& at) {
        if (r == Words::rows - 1) words.leave_out(at.odd(), without_term<T>());
        return words.pack(r);
    }
    __device__ __forceinline__ void complete(Pack<T, 8>& pack, int r, const Place& at) {
        const bool odd = at.odd();
        if (Words::is_whole(r, at, odd)) return; // the same for all
        words.load_some(r, at, Words::own_words(at, odd), odd, without_term<T>());
        if (r == Words::rows - 1) words.leave_out(odd, without_term<T>());
        pack = words.pack(r);
    }
};

/// Tiles of rows, the first of all rows, then the second …, so that all warps have some of the last ones, which are short; and where their sums go.
template <class T>
struct ExpTiles {
    const T* x;
    std::uint64_t rows, n, stride, tiles;
    float* sums;
    std::uint64_t pitch; ///< from the first sum of a row to that of the next
};

template <class T, bool Aligned>
struct ExpWarp {
    using Order = spec::TreeOrder<2>;
    using LanesOf = Lanes<acc::Rounded<float>, 8>;
    using Chunk = ChunkUnderWay<T, Aligned>;
    using Place = typename Chunk::Place;
    static constexpr int rows = spec::rows_per_chunk, lanes = Order::lanes, chunk = Order::chunk;

    const ExpTiles<T>& in;
    Chunk next;

    [[nodiscard]] __device__ __forceinline__ Place place_of(std::uint64_t unit) const {
        if (unit >= in.rows * in.tiles) return Chunk::place(in.x, 0, false);
        const std::uint64_t tile = in.tiles == 1 ? 0 : unit / in.rows, row = unit - tile * in.rows;
        const int m = static_cast<int>(items_in_tile(tile * Order::tile, in.n, Order::tile));
        return Chunk::place(in.x + static_cast<std::int64_t>(row * in.stride + tile * Order::tile), m,
                            tile + 1 < in.tiles);
    }
    [[nodiscard]] static __device__ __forceinline__ auto term(float z) {
        if constexpr (!clamps_pairs) z = spec::within_exp_terms(z);
        return spec::exp_term_within<T>(z);
    }

    /// Adds the chunk at `at`, whose loads are under way, and begins those of the one at `then`.
    template <bool Full>
    [[nodiscard]] __device__ __forceinline__ LanesOf add(const Place& at, const Place& then) {
        [[maybe_unused]] const int left = at.left_of_chunk();
        LanesOf sum;
        if constexpr (Chunk::has_first) sum.a[7].sum = term_of(next.words.first_of_lane_0()).value();
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (!Full && r > 0 && left <= r * lanes) { // the same for all
                next.load(r, then);
                continue;
            }
            Pack<T, 8> pack = next.take(r, at);
            if constexpr (!Full) next.complete(pack, r, at);
            next.load(r, then);
            clamp(pack);
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const auto t = term(item_at(pack, k));
                const bool begins = r == 0 && !(Chunk::has_first && k == 7);
                sum.a[k].sum = begins ? t.value() : t.added_to(sum.a[k].sum);
            }
        }
        if constexpr (!Full && Chunk::has_first) {
            const auto last = Chunk::Words::load_last(at, at.odd(), without_term<T>());
#pragma unroll
            for (int k = 0; k < 8; k += 2) {
                if (k == last.number) sum.a[k].sum = term_of(T::from_bits(last.bits)).added_to(sum.a[k].sum);
            }
        }
        return sum;
    }
    [[nodiscard]] static __device__ __forceinline__ auto term_of(T x) {
        return spec::exp_term_within<T>(spec::within_exp_terms(widen(x)));
    }

    __device__ __forceinline__ void run(std::uint64_t unit, std::uint64_t warps) {
        Place at = place_of(unit);
#pragma unroll
        for (int r = 0; r < rows; ++r)
            next.load(r, at);
        const int thread = threadIdx.x % warp_size;
        for (; unit < in.rows * in.tiles; unit += warps) {
            PendingTree<LanesOf> chunks;
            LanesOf sum;
            const int m = at.left_of_chunk();
#pragma unroll 1
            for (int c = 0; c * chunk < m; ++c) {
                const bool last = m - c * chunk <= chunk;
                Place then = Chunk::next(at, chunk);
                if (last) then = place_of(unit + warps);
                sum = Chunk::is_full(at) ? add<true>(at, then) : add<false>(at, then);
                at = then;
                chunks.take(c, sum, last);
            }
            acc::Rounded<float> total;
            if constexpr (Aligned) {
                total = combine_lanes_of_warp(sum);
            } else {
                total = combine_words_of_warp(sum);
            }
            const std::uint64_t tile = in.tiles == 1 ? 0 : unit / in.rows;
            if (thread == 0) in.sums[(unit - tile * in.rows) * in.pitch + tile] = total.sum;
        }
    }
};

template <class T, bool Aligned>
__global__ void __launch_bounds__(max_block, policy::exp_sums.blocks)
    exp_sums_kernel(const __grid_constant__ ExpTiles<T> in) {
    ExpWarp<T, Aligned> warp{in, {}};
    warp.run(std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size,
             std::uint64_t{gridDim.x} * (blockDim.x / warp_size));
}

} // namespace detreduce::cuda::row_kernels
