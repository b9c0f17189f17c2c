// How a warp adds elements for `exact`: it takes tiles of 32 × V × 16 bytes. If a tile's elements
// lie within the warp's window, which is the rule, they go through bins in registers; if they fit
// another window of the same kind, the warp moves its window; else the tile is added by slower
// means (wide.cuh). Integers add up in any order, so nothing here can change a bit of a result.
#pragma once

#include "platform/grid.cuh"
#include "multiset/exact/launch.hpp"
#include "multiset/exact/wide.cuh"

namespace detreduce::cuda::exact {

inline constexpr int block_threads = exact_block_threads, block_warps = block_threads / warp_size;

/// Windows, tried one after the other: a warp that has met several tiles that do not fit goes on to
/// the next.
template <class... W>
struct Windows {};

/// How elements of T are summed. f32 ends with a window that holds all of its numbers; f64 and bf16
/// go on element by element. One bin of double holds 38 binades of bf16, in fewer
/// instructions than the two bins of float that hold 30: that is what log-normal data needs.
template <class T>
struct WindowsOf;
template <>
struct WindowsOf<float> {
    using type =
        Windows<spec::ExactWindow<double, 2, 8>, spec::ExactWindow<double, 3, 6>, spec::ExactWindow<double, 7, 6>>;
};
template <>
struct WindowsOf<double> {
    using type = Windows<spec::ExactWindow<double, 4, 6>>;
};
template <>
struct WindowsOf<float16> {
    using type = Windows<spec::ExactWindow<double, 1, 11>>; // all of f16 is within 40 bits
};
template <>
struct WindowsOf<bfloat16> {
    using type =
        Windows<spec::ExactWindow<double, 1, 6>, spec::ExactWindow<double, 2, 6>, spec::ExactWindow<double, 3, 6>>;
};

/// Blocks on a multiprocessor.
template <class Input>
inline constexpr int blocks_at_once = policy::exact.blocks;

template <class Input>
struct WarpMemory;
/// And where it has one input alone.
template <class Input>
struct FlatMemory : WarpMemory<Input> {};

/// The input as tiles. What lies before the first 16-byte boundary and after the last one makes up
/// the last tile; the one before it holds the vectors that do not fill a tile.
/// `Magnitude`: of their magnitudes.
template <class T, int V, bool Magnitude = false>
struct Tiles {
    static constexpr int per_vector = Element<T>::per_vector, states = 1;
    using Type = T;
    const T* x;
    const uint4* vectors;
    std::uint64_t n, vector_count, full;
    std::uint32_t head;

    __host__ __device__ Tiles(const T* input, std::uint64_t count) : x(input), n(count) {
        const std::uint64_t before = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(T);
        head = static_cast<std::uint32_t>(before < n ? before : n);
        vectors = reinterpret_cast<const uint4*>(x + head);
        vector_count = (n - head) / per_vector;
        full = vector_count / (V * warp_size);
    }
    [[nodiscard]] __device__ std::uint64_t count() const { return full + 2; }
    [[nodiscard]] std::uint64_t tasks() const { return full; } ///< for warps

    /// A full tile, as it is in memory: what looks at an element waits for it, so as_added() is for
    /// when the tile's turn has come.
    __device__ __forceinline__ Vectors<V> load(std::uint64_t tile) const {
        const uint4* const p = vectors + tile * (V * warp_size) + threadIdx.x % warp_size;
        Vectors<V> t;
#pragma unroll
        for (int i = 0; i < V; ++i)
            t.v[i] = load16<Source::aligned_input>(p + i * warp_size);
        return t;
    }
    [[nodiscard]] static __device__ __forceinline__ Vectors<V> as_added(const Vectors<V>& loaded) {
        Vectors<V> t;
#pragma unroll
        for (int i = 0; i < V; ++i)
            t.v[i] = seen<T, Magnitude>(loaded.v[i]);
        return t;
    }
    /// One of the two tiles that are not full. Zeros, which change no sum, take the places of what
    /// is not there.
    __device__ __forceinline__ Vectors<V> load_rest(std::uint64_t tile) const {
        const int lane = threadIdx.x % warp_size;
        Vectors<V> t{};
        if (tile == full) {
#pragma unroll
            for (int i = 0; i < V; ++i) {
                const std::uint64_t at = tile * (V * warp_size) + i * warp_size + lane;
                if (at < vector_count) t.v[i] = seen<T, Magnitude>(load16<Source::aligned_input>(vectors + at));
            }
        } else {
            const std::uint64_t tail = head + vector_count * per_vector;
            const auto in_tail = static_cast<std::uint32_t>(n - tail);
            if (lane < head + in_tail) {
                const T value = load_number(lane < head ? x + lane : x + tail + (lane - head));
                __builtin_memcpy(&t.v[0], &value, sizeof value);
                t.v[0] = seen<T, Magnitude>(t.v[0]);
            }
        }
        return t;
    }
};

/// A warp's sum: bins, what was read out of them, and its words in shared memory. Tiles of V loads
/// a thread, of elements or of their magnitudes. `Glances`: it takes a glance at a tile first. Of
/// magnitudes that tells no less and costs no less than the whole look.
template <class T, class W, bool Magnitude = false, int V = tile_vectors, bool Glances = !Magnitude>
struct WarpSum {
    static constexpr int elements_per_tile = V * Element<T>::per_vector;
    static constexpr bool drains_within_tile = elements_per_tile > W::adds;
    static constexpr int tiles_between_drains = drains_within_tile ? 1 : W::adds / elements_per_tile;
    static constexpr int drains_between_flushes = 32; // 32 threads · 32 drains · 2^51 fit into 62 bits
    static constexpr std::uint32_t flushes_between_carries = 1u << 20; // · 7 bins · 2^33 < 2^57

    Word* words;
    Limits<T, W> limits;
    Bins<T, W> bins;
    Word held[W::bins];
    int tiles = 0, drains = 0;
    std::uint32_t flushes = 0;
    bool has_zeros = false;   ///< the input, so that a glance is of no use
    bool met_special = false; ///< the tile that no window held had NaN or infinities

    __device__ __forceinline__ explicit WarpSum(Word* w) : words(w) {
        bins.reset(0);
#pragma unroll
        for (int k = 0; k < W::bins; ++k)
            held[k] = 0;
    }

    __device__ __forceinline__ void drain() {
#pragma unroll
        for (int k = 0; k < W::bins; ++k)
            held[k] += bins.read(limits.top, k);
        bins.reset(limits.top);
        tiles = 0;
        ++drains;
    }
    __device__ __forceinline__ void flush() {
#pragma unroll
        for (int k = 0; k < W::bins; ++k) {
            warp_deposit_sum(words, held[k], Bins<T, W>::unit(limits.top, k));
            held[k] = 0;
        }
        drains = 0;
        if (++flushes % flushes_between_carries == 0) warp_carry(words);
    }
    __device__ __forceinline__ void flush_all() {
        if (limits.above == 0) return; // no window yet
        drain();
        flush();
    }

    __device__ __forceinline__ void add(const Vectors<V>& t) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
            bins.add(t.v[i]);
            if (drains_within_tile && (i + 1) * Element<T>::per_vector % W::adds == 0 && i + 1 < V) {
                drain();
                --drains; // bins of float have room in `held` for more
            }
        }
    }

    /// Moves the window to where this tile fits; false if there is no such place.
    __device__ __forceinline__ bool move_window(const Range& mine) {
        Range all = mine;
        all.largest = warp_max(mine.largest);
        all.smallest_less_one = warp_min(mine.smallest_less_one);
        met_special = all.largest >= Limits<T, W>::magnitude_of(Limits<T, W>::infinity);
        Limits<T, W> found;
        if (!Limits<T, W>::find(all, found)) return false;
        flush_all();
        limits = found;
        bins.reset(limits.top);
        return true;
    }

    __device__ __forceinline__ void count_minus_zeros(const Vectors<V>& t) {
        int count = 0;
#pragma unroll
        for (int i = 0; i < V; ++i)
            Element<T>::each(t.v[i], [&](auto x) { count += fp::to_bits(x) == fp::sign_mask<decltype(x)>; });
        const int all = warp_add(count);
        if (threadIdx.x % warp_size == 0) words[acc::exact::negative_zeros] += all;
        sync_warp();
    }

    [[nodiscard]] static __device__ __forceinline__ bool glance(const Limits<T, W>& limits, const Vectors<V>& t) {
        Glance glance;
#pragma unroll
        for (int i = 0; i < V; ++i)
            Element<T>::look(glance, t.v[i]);
        Element<T>::settle(glance);
        return limits.hold(glance);
    }
    /// Makes the window hold a tile, whatever is in it; false if there is none of this kind.
    __device__ __forceinline__ bool prepare(const Vectors<V>& t) {
        Range range;
#pragma unroll
        for (int i = 0; i < V; ++i)
            Element<T>::template look<!Magnitude>(range, t.v[i]);
        Element<T>::settle(range);
        const bool held_here = limits.hold(range);
        if (!all_of_warp(held_here && range.lowest != INT32_MIN)) {
            if (!all_of_warp(held_here) && !move_window(range)) return false;
            if (!Magnitude) count_minus_zeros(t);
        } else {
            has_zeros = true; // or else a glance would have done
        }
        return true;
    }
    /// Adds a tile; false if no window of this kind holds it.
    __device__ __forceinline__ bool take(const Vectors<V>& t) {
        if (!Glances || has_zeros || !all_of_warp(glance(limits, t))) {
            if (!prepare(t)) return false;
        }
        add(t);
        if (++tiles == tiles_between_drains) {
            drain();
            if (drains == drains_between_flushes) flush();
        }
        return true;
    }
};

/// A warp's way through the input.
template <class T, bool Magnitude>
struct Walk {
    static constexpr int V = tile_vectors, misses_allowed = policy::exact_misses;
    const Tiles<T, V, Magnitude>& tiles;
    std::uint64_t tile, stride; ///< the tile that comes next; warps in the grid
    Word* words;
    uint4* copy;         ///< room for a tile
    std::uint32_t* hint; ///< how many kinds of windows others found to be of no use; null: not known yet
    bool result_only;    ///< see Between
    std::uint32_t slow_tiles = 0;
    static constexpr std::uint32_t infinity = (2u * fp::Format<T>::max_exponent + 1) << Element<T>::fraction_bits;

    __device__ __forceinline__ void add_slowly(const uint4* vectors) {
        add_wide_tile<T, V, Magnitude>(vectors, words);
        if (++slow_tiles % (1u << 16) == 0) warp_carry(words);
    }

    /// Full tiles from `tile` on, with windows W; stops early, before a tile, where they are of no
    /// use.
    template <class W, bool Last>
    __device__ __forceinline__ void go() {
        if (tile >= tiles.full) return;
        WarpSum<T, W, Magnitude> sum(words);
        int misses = 0;
        Vectors<V> next = tiles.load(tile);
        for (; tile < tiles.full; tile += stride) {
            Vectors<V> current = tiles.as_added(next);
            if (tile + stride < tiles.full) next = tiles.load(tile + stride);
            const uint4* const here = tiles.vectors + tile * (V * warp_size);
            bool special = false, fits = true;
            while (!sum.take(current)) {
                fits = !special && sum.met_special;
                if (!fits) break;
                special = true;
                if (result_only) break;
                take_specials<T, V, Magnitude>(here, copy, nullptr);
                current = Vectors<V>::copied(copy);
            }
            if (!fits) {
                if (!Last && ++misses > misses_allowed) break;
                add_slowly(here);
            } else if (special) {
                take_specials<T, V, Magnitude>(here, copy, words);
            }
        }
        sum.flush_all();
    }
    /// One kind of window after the other, but not those that a block before this one has given up.
    template <class W, class... More>
    __device__ __forceinline__ void through(Windows<W, More...>, std::uint32_t skip, std::uint32_t kind = 0) {
        constexpr bool last = sizeof...(More) == 0 && !scatters<T>;
        if (last || skip <= kind) {
            go<W, last>();
            if (tile < tiles.full && hint != nullptr) {
                wait_for_previous_kernel(); // which has made the hint zero
                if (threadIdx.x % warp_size == 0) atomicMax(hint, kind + 1);
            }
        }
        if constexpr (sizeof...(More) > 0) through(Windows<More...>{}, skip, kind + 1);
    }

    /// Where windows were of no use: element by element.
    __device__ __forceinline__ void scatter_rest(ScatteredOf<T>& scattered) {
        if (tile >= tiles.full) return;
        scattered.clear();
        int pending = 0;
        Vectors<V> next = tiles.load(tile);
        for (; tile < tiles.full; tile += stride) {
            Vectors<V> current = tiles.as_added(next);
            if (tile + stride < tiles.full) next = tiles.load(tile + stride);
            Range range;
#pragma unroll
            for (int i = 0; i < V; ++i)
                Element<T>::look(range, current.v[i]);
            Element<T>::settle(range);
            if (!all_of_warp(range.largest < infinity && range.lowest != INT32_MIN)) {
                Counts counts;
                for (int i = 0; i < V; ++i) {
                    counts.take_specials<T>(current.v[i]);
                    Element<T>::each(current.v[i], [&](auto x) {
                        counts.minus_zeros += fp::to_bits(x) == fp::sign_mask<decltype(x)>;
                    });
                }
                counts.add_to(words);
                if (result_only && any_of_warp(range.largest >= infinity)) continue;
            }
#pragma unroll
            for (int i = 0; i < V; ++i)
                scattered.add(current.v[i]);
            if (++pending == ScatteredOf<T>::most / (V * Element<T>::per_vector)) {
                scattered.drain(words);
                pending = 0;
            }
        }
        scattered.drain(words);
    }

    /// The tiles that are not full, by whichever warp they fall to.
    __device__ __forceinline__ void finish_rest(std::uint64_t first) {
        for (std::uint64_t rest_tile = tiles.full + first % stride; rest_tile < tiles.count(); rest_tile += stride) {
            const Vectors<V> rest = tiles.load_rest(rest_tile);
            if (!any_of_warp(rest.any())) continue;
            rest.copy_to(copy);
            sync_warp();
            add_slowly(copy);
            sync_warp();
        }
    }
};

/// What blocks tell each other, besides their sums.
struct Between {
    std::uint32_t* arrived = nullptr;       ///< blocks that have added to the state; null: another kernel finishes
    std::uint32_t* hint = nullptr;          ///< see Walk
    std::uint32_t first_wave = 0xffffffffu; ///< blocks from this one on begin when others have ended, and read the hint
    /// Results are wanted, not states: where there is a NaN or an infinity, no number changes them.
    bool result_only = false;
};

/// What a warp keeps in shared memory.
template <class T, int V, bool Magnitude>
struct WarpMemory<Tiles<T, V, Magnitude>> {
    Word words[acc::exact::words];
    union {
        uint4 copy[tile_vectors * warp_size];
        std::conditional_t<scatters<T>, ScatteredOf<T>, int> scattered;
    };
};

/// What one warp of `warps` adds to its words.
template <class T, int V, bool Magnitude>
__device__ __forceinline__ void add_share(const Tiles<T, V, Magnitude>& tiles, WarpMemory<Tiles<T, V, Magnitude>>& own,
                                          std::uint64_t first, std::uint64_t warps, const Between& between) {
    std::uint32_t skip = 0;
    if (blockIdx.x >= between.first_wave) {
        wait_for_previous_kernel(); // which has made the hint zero, long ago
        skip = *static_cast<volatile std::uint32_t*>(between.hint);
    }
    Walk<T, Magnitude> walk{tiles, first, warps, own.words, own.copy, between.hint, between.result_only};
    walk.through(typename WindowsOf<T>::type{}, skip);
    if constexpr (scatters<T>) walk.scatter_rest(own.scattered);
    walk.finish_rest(first);
}

} // namespace detreduce::cuda::exact
