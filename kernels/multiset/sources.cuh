// Where the elements of a scope are. A source has units, vectors of 16 bytes that are looked at
// together, which its threads share, and odd elements, which are in no unit.
#pragma once

#include <cstdint>
#include <type_traits>

#include "sources/load.cuh"
#include "sequence/tile.cuh"

namespace detreduce::cuda::multiset {

/// The elements at p that come before the first 16-byte boundary; at most n.
template <class T>
[[nodiscard]] __host__ __device__ __forceinline__ std::uint32_t elements_before_boundary(const T* p, std::uint64_t n) {
    const std::uint64_t before = (16 - reinterpret_cast<std::uintptr_t>(p) % 16) % 16 / sizeof(T);
    return static_cast<std::uint32_t>(before < n ? before : n);
}

/// Elements of a group, fewer than 2^32: those before the first 16-byte boundary and behind the
/// last are odd. AtOnce: units whose loads are in flight together.
template <class T, int AtOnce = 4>
struct Part {
    using Index = std::uint32_t;
    static constexpr int unit_vectors = 1;
    static constexpr std::uint32_t per_vector = fp::Format<T>::elements_in_16_bytes;
    const T* x;
    std::uint32_t head, vectors, odd;
    std::uint32_t first, threads; ///< the thread's number, of so many

    template <class Scope>
    __device__ __forceinline__ Part(const Scope& scope, const T* from, std::uint32_t n)
        : x(from), head(elements_before_boundary(from, n)), vectors((n - head) / per_vector),
          odd(n - vectors * per_vector), first(scope.rank()), threads(scope.size()) {}

    /// Through L1: an index is looked for in what was just read.
    [[nodiscard]] __device__ __forceinline__ Pack<uint4, 1> unit(std::uint32_t v) const {
        return {{load_read_only(reinterpret_cast<const uint4*>(x + head) + v)}};
    }
    /// What a thread that has no units would begin with.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t first_unit() const { return first; }
    [[nodiscard]] __device__ __forceinline__ bool has(std::uint32_t v) const { return v < vectors; }
    /// The index of element e of vector i of a unit.
    [[nodiscard]] __device__ __forceinline__ Index index(std::uint32_t v, int, int e) const {
        return head + v * per_vector + e;
    }
    /// f(unit, vectors) for the thread's units, in order.
    template <class F>
    __device__ __forceinline__ void for_units(const F& f) const {
#pragma unroll 1
        for (std::uint32_t v = first; v < vectors; v += AtOnce * threads) {
            Pack<uint4, 1> loaded[AtOnce];
#pragma unroll
            for (int i = 0; i < AtOnce; ++i)
                if (has(v + i * threads)) loaded[i] = unit(v + i * threads);
#pragma unroll
            for (int i = 0; i < AtOnce; ++i)
                if (has(v + i * threads)) f(v + i * threads, loaded[i]);
        }
    }
    /// f(index, element) for the thread's odd elements, in order.
    template <class F>
    __device__ __forceinline__ void for_odd(const F& f) const {
#pragma unroll 1
        for (std::uint32_t i = first; i < odd; i += threads) {
            const std::uint32_t at = i < head ? i : i + vectors * per_vector;
            f(at, load_number(x + at));
        }
    }
};

/// Neighbouring columns, or a part of them, for a thread, which has a word of each row: an element,
/// or two of 16 bits. They are looked at by blocks of rows, whose loads are in flight together.
template <class T, int Columns>
struct ColumnPart {
    using Word = std::conditional_t<Columns == 2, std::uint32_t, fp::Bits<T>>;
    static constexpr int rows = sizeof(Word) == 8 ? 8 : 16; ///< of a block
    const T* x;
    std::uint64_t step; ///< from one row to the next
    std::uint32_t n;    ///< rows, at least one

    /// Behind the end the last row again.
    template <int N>
    __device__ __forceinline__ void load(std::uint32_t block, Word (&words)[N]) const {
        if (block + N <= n) {
            const T* const p = x + block * step;
#pragma unroll
            for (int j = 0; j < N; ++j)
                words[j] = word(p + j * step);
        } else {
#pragma unroll
            for (int j = 0; j < N; ++j)
                words[j] = word(x + min(block + j, n - 1) * step);
        }
    }
    /// f(block, words) for all blocks, in order.
    template <class F>
    __device__ __forceinline__ void for_blocks(const F& f) const {
#pragma unroll 1
        for (std::uint32_t block = 0; block < n; block += rows) {
            Word words[rows];
            load(block, words);
            f(block, words);
        }
    }

  private:
    [[nodiscard]] static __device__ __forceinline__ Word word(const T* p) {
        if constexpr (Columns == 2) {
            return load_read_only(reinterpret_cast<const std::uint32_t*>(p));
        } else {
            return fp::to_bits(load_number(p));
        }
    }
};

/// A flat array: what lies before the first 16-byte boundary, whole tiles of a warp, and the rest.
template <class T>
struct Tiles {
    static constexpr int vectors = 4; ///< loads of a thread that are in flight together
    static constexpr std::uint32_t elements = vectors * warp_size * fp::Format<T>::elements_in_16_bytes;
    const T* x;
    std::uint64_t full;      ///< whole tiles
    std::uint32_t head, odd; ///< elements before them; before and behind them

    Tiles(const T* input, std::uint64_t n)
        : x(input), full((n - elements_before_boundary(x, n)) / elements), head(elements_before_boundary(x, n)),
          odd(static_cast<std::uint32_t>(n - full * elements)) {}
};

/// What a thread of the grid has of it: its warp's tiles, the units, numbered as they come, and its
/// share of the odd elements.
template <class T>
struct TileShare {
    using Index = std::uint64_t;
    static constexpr int unit_vectors = Tiles<T>::vectors;
    static constexpr std::uint32_t per_vector = fp::Format<T>::elements_in_16_bytes;
    const Tiles<T>& tiles;
    std::uint64_t first, stride; ///< the warp's first tile; warps in the grid

    __device__ __forceinline__ explicit TileShare(const Tiles<T>& all)
        : tiles(all), first(std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size),
          stride(std::uint64_t{gridDim.x} * (blockDim.x / warp_size)) {}

    [[nodiscard]] __device__ __forceinline__ std::uint32_t first_unit() const { return 0; }
    [[nodiscard]] __device__ __forceinline__ bool has(std::uint32_t iteration) const {
        return first + iteration * stride < tiles.full;
    }
    [[nodiscard]] __device__ __forceinline__ Pack<uint4, unit_vectors> unit(std::uint32_t iteration) const {
        return load(first + iteration * stride);
    }
    [[nodiscard]] __device__ __forceinline__ Index index(std::uint32_t iteration, int i, int e) const {
        return index_in(first + iteration * stride, i, e);
    }
    template <class F>
    __device__ __forceinline__ void for_units(const F& f) const {
        std::uint32_t iteration = 0;
        for (std::uint64_t tile = first; tile < tiles.full; tile += stride, ++iteration)
            f(iteration, load(tile));
    }
    template <class F>
    __device__ __forceinline__ void for_odd(const F& f) const {
        const std::uint32_t threads = gridDim.x * blockDim.x;
        for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < tiles.odd; i += threads) {
            const std::uint64_t at = i < tiles.head ? i : i + tiles.full * Tiles<T>::elements;
            f(at, load_number(tiles.x + at));
        }
    }

  private:
    /// The index of element e of the thread's i-th vector in a tile.
    [[nodiscard]] __device__ __forceinline__ std::uint64_t index_in(std::uint64_t tile, int i, int e) const {
        return tiles.head + tile * Tiles<T>::elements + (i * warp_size + threadIdx.x % warp_size) * per_vector + e;
    }
    [[nodiscard]] __device__ __forceinline__ Pack<uint4, unit_vectors> load(std::uint64_t tile) const {
        const T* const mine = tiles.x + index_in(tile, 0, 0); // the others lie at distances that are known now
        Pack<uint4, unit_vectors> t;
#pragma unroll
        for (int i = 0; i < unit_vectors; ++i)
            t.v[i] = load16<Source::aligned_input>(mine + i * warp_size * per_vector);
        return t;
    }
};

} // namespace detreduce::cuda::multiset
