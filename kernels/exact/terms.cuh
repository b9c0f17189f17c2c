// `exact` of the ops: terms (spec/transforms.hpp) instead of elements. Each is made into doubles (floats, of 16-bit formats) without error, which go through the bins of a
// window. Whether they fit is seen from the elements, before they are multiplied: that is cheaper, above all for 16-bit formats. A product of
// doubles is two doubles, its rounded value and the error of that, each with bins of its own.
#pragma once

#include "exact/term_bins.cuh"

namespace detreduce::cuda::exact {

template <class T, class Map, int V>
struct WarpMemory<Terms<T, Map, V>> {
    Word words[Terms<T, Map, V>::states * acc::exact::words];
    uint4 copy[Map::inputs == 2 ? 2 : 2 * short_tile / V][V * warp_size]; // never less than round_from_words() needs
    static constexpr int other = Map::inputs - 1; ///< the copy of y; of one input that of x, which is the same
};

/// A warp's way through the input.
template <class T, class Map, int V = short_tile>
struct TermWalk {
    using Input = Terms<T, Map, V>;
    using Mine = typename Input::Mine;

    const Input& input;
    WarpMemory<Input>& own;
    std::uint64_t at, warps;
    bool only_minus_zeros = true; ///< so far; where that is not so, no sum of this warp's is −0, and nobody counts
    std::uint32_t slow_tiles = 0;

    [[nodiscard]] __device__ __forceinline__ Word* counters() const {
        return own.words + LongOf<Input::states>::counters;
    }

    /// f(x, y) for each pair of elements, as numbers of N.
    template <class N, class F>
    static __device__ __forceinline__ void each(const uint4& x, const uint4& y, const F& f) {
        constexpr int count = 16 / sizeof(T);
        T a[count], b[count];
        __builtin_memcpy(a, &x, 16);
        __builtin_memcpy(b, &y, 16);
#pragma unroll
        for (int i = 0; i < count; ++i)
            f(static_cast<N>(widen(a[i])), static_cast<N>(widen(b[i])));
    }

    /// A tile that no window holds, from shared memory, each term on its own.
    static __device__ __noinline__ void add_slowly(const uint4* x, const uint4* y, Word* words) {
        for (int i = 0; i < Input::vectors; ++i) {
            const int mine = i * warp_size + threadIdx.x % warp_size;
            each<double>(x[mine], y[mine], [&](double a, double b) {
                for (int k = 0; k < Map::parts; ++k) {
                    const transforms::Product<double> f = Map::part(k, a, b);
                    acc::exact::ScaledProduct p{0, Map::linear ? f.a : f.factor * (f.a * f.b), 0.0};
                    if constexpr (Input::has_errors) p = acc::exact::scaled_product(f.a, f.b, f.factor);
                    const double value = Map::parts > 1 ? p.value + 0.0 : p.value, error = p.error + 0.0;
                    const uint4 both = {static_cast<std::uint32_t>(__double2loint(value)),
                                        static_cast<std::uint32_t>(__double2hiint(value)),
                                        static_cast<std::uint32_t>(__double2loint(error)),
                                        static_cast<std::uint32_t>(__double2hiint(error))};
                    scatter<double>(both, words + p.state * acc::exact::words);
                }
            });
        }
        sync_warp();
    }
    /// The same through a wide window, if that holds it. Not inlined, and with its loops left rolled: few tiles get here.
    static __device__ __noinline__ bool add_wide(const uint4* x, const uint4* y, Word* words) {
        static_assert(Input::each <= WideWindow::adds);
        using BinsOf = TermBins<T, Map, WideWindow>;
        const int lane = threadIdx.x % warp_size;
        Range range_x, range_y;
#pragma unroll 1
        for (int i = 0; i < Input::vectors; ++i)
            look<BinsOf>(range_x, range_y, x[i * warp_size + lane], y[i * warp_size + lane]);
        settle<BinsOf>(range_x, range_y);
        BinsOf bins(words);
        if (!bins.move(range_x, range_y)) return false;
#pragma unroll 1
        for (int k = 0; k < Map::parts; ++k) {
            bins.drain();
#pragma unroll 1
            for (int i = 0; i < Input::vectors; ++i)
                add_part(bins, k, x[i * warp_size + lane], y[i * warp_size + lane]);
        }
        bins.flush_all();
        return true;
    }
    /// A tile that the window does not hold.
    __device__ __forceinline__ void add_otherwise(const Mine& x, const Mine& y, bool there) {
        sync_warp();
#pragma unroll
        for (int i = 0; i < Input::vectors; ++i) {
            own.copy[0][i * warp_size + threadIdx.x % warp_size] = x.v[i];
            own.copy[WarpMemory<Input>::other][i * warp_size + threadIdx.x % warp_size] = y.v[i];
        }
        sync_warp();
        if (add_wide(own.copy[0], own.copy[WarpMemory<Input>::other], counters())) {
            count_minus_zeros(x, y, there);
        } else {
            add_slowly(own.copy[0], own.copy[WarpMemory<Input>::other], own.words); // counts by itself
        }
        if (++slow_tiles % (1u << 16) == 0) {
            for (int s = 0; s < Input::states; ++s)
                warp_carry(own.words + s * acc::exact::words);
        }
    }

    static __device__ __forceinline__ bool is_minus_zero(double a, double b) {
        return (a == 0 || b == 0) && fp::is_negative(a) != (Input::binary && fp::is_negative(b));
    }
    /// The first term of the thread in this tile, `there` unless it is behind the end, nearly always shows that not all are −0.
    __device__ __forceinline__ void count_minus_zeros(const Mine& x, const Mine& y, bool there) {
        if ((Map::transform != Transform::product && Map::transform != Transform::element) || !only_minus_zeros) return;
        T a, b;
        __builtin_memcpy(&a, &x.v[0], sizeof a);
        __builtin_memcpy(&b, &y.v[0], sizeof b);
        only_minus_zeros =
            all_of_warp(!there || is_minus_zero(static_cast<double>(widen(a)), static_cast<double>(widen(b))));
        if (!only_minus_zeros) return;
        int count = 0, all = 0;
#pragma unroll
        for (int i = 0; i < Input::vectors; ++i) {
            each<double>(x.v[i], y.v[i], [&](double c, double d) {
                count += is_minus_zero(c, d);
                ++all;
            });
        }
        if (!all_of_warp(count == all)) only_minus_zeros = false;
        const int sum = warp_add(count);
        if (threadIdx.x % warp_size == 0) counters()[acc::exact::negative_zeros] += sum;
        sync_warp();
    }

    template <class BinsOf>
    static __device__ __forceinline__ void look(Range& range_x, Range& range_y, const uint4& x, const uint4& y) {
        Element<T>::look(range_x, x);
        if constexpr (Input::binary) Element<T>::look(BinsOf::shared_room ? range_x : range_y, y);
    }
    template <class BinsOf>
    static __device__ __forceinline__ void settle(Range& range_x, Range& range_y) {
        Element<T>::settle(range_x);
        if constexpr (!BinsOf::shared_room) Element<T>::settle(range_y);
    }
    /// Squares in one bin, of whose Q they must be multiples, or in two.
    template <bool OneBin, class BinsOf>
    static __device__ __forceinline__ void add_squares(BinsOf& bins, const uint4& x) {
        double a[8];
        Element<T>::magnitudes(x, a);
        auto& s = bins.values.s;
#pragma unroll
        for (const double m : a) {
            const double t = fp::fused(m, m, s[0]);
            if constexpr (!OneBin) s[1] = s[1] + fp::fused(m, m, s[0] - t);
            s[0] = t;
        }
    }
    /// Part k of the terms of one load; they must have room in the bins.
    template <class BinsOf>
    static __device__ __forceinline__ void add_part(BinsOf& bins, int k, const uint4& x, const uint4& y) {
        using N = typename BinsOf::Number;
        if constexpr (BinsOf::in_one_bin) {
            add_squares<false>(bins, x);
            return;
        }
        each<N>(x, y, [&](N a, N b) {
            const transforms::Product<N> f = Map::finite_part(k, a, b);
            const N p = Map::linear ? f.a : f.a * f.b;
            bins.values.add(Map::linear ? p : f.factor * p);
            if constexpr (Input::has_errors) bins.errors.add(f.factor * fp::fused(f.a, f.b, -p));
        });
    }

    /// Adds a tile; false if no window of W holds it.
    template <class W>
    static __device__ __forceinline__ bool take(TermBins<T, Map, W>& bins, const Mine& x, const Mine& y) {
        using BinsOf = TermBins<T, Map, W>;
        constexpr int per_vector = 16 / sizeof(T);
        constexpr bool drains_within = Input::each > W::adds;
        Range range_x, range_y;
#pragma unroll
        for (int i = 0; i < Input::vectors; ++i)
            look<BinsOf>(range_x, range_y, x.v[i], y.v[i]);
        settle<BinsOf>(range_x, range_y);
        bool in_one_bin = false;
        if constexpr (BinsOf::in_one_bin) in_one_bin = all_of_warp(bins.one_bin.holds(range_x));
        if (!in_one_bin && !all_of_warp(bins.holds(range_x, range_y)) && !bins.move(range_x, range_y)) return false;
#pragma unroll
        for (int k = 0; k < Map::parts; ++k) {
            if (!drains_within && bins.added + Input::each > W::adds) bins.drain();
            bins.added += Input::each;
            if constexpr (BinsOf::in_one_bin) {
                if (in_one_bin) {
#pragma unroll
                    for (int i = 0; i < Input::vectors; ++i)
                        add_squares<true>(bins, x.v[i]);
                    continue;
                }
            }
#pragma unroll
            for (int i = 0; i < Input::vectors; ++i) {
                add_part(bins, k, x.v[i], y.v[i]);
                if (drains_within && (i + 1) * per_vector % W::adds == 0) bins.drain();
            }
        }
        return true;
    }

    /// Tiles from `at` on: full ones, and, if it is the warp's turn, what is left behind them.
    template <class BinsOf>
    __device__ __forceinline__ void go(BinsOf& bins) {
        const std::uint64_t full = input.full(), all = full + (input.n % Input::tile != 0);
        if (at >= all) return;
        Mine next_x{}, next_y{};
        if (at < full) {
            next_x = input.load(input.x, at);
            if constexpr (Input::binary) next_y = input.load(input.y, at);
        }
        for (; at < all; at += warps) {
            Mine x = next_x, y = Input::binary ? next_y : next_x;
            if (at + warps < full) {
                next_x = input.load(input.x, at + warps);
                if constexpr (Input::binary) next_y = input.load(input.y, at + warps);
            }
            if (at == full) {
                x = y = input.load_rest(input.x, own.copy[0]);
                if constexpr (Input::binary) y = input.load_rest(input.y, own.copy[WarpMemory<Input>::other]);
            }
            const bool there = input.has_first(at);
            if (take(bins, x, y)) {
                count_minus_zeros(x, y, there);
            } else {
                add_otherwise(x, y, there);
            }
        }
    }
};

template <class T, class Map, int V>
__device__ __forceinline__ void add_share(const Terms<T, Map, V>& input, WarpMemory<Terms<T, Map, V>>& own,
                                          std::uint64_t first, std::uint64_t warps, const Between&) {
    TermWalk<T, Map, V> walk{input, own, first, warps};
    TermBins<T, Map, FirstWindow<T, Map>> bins(walk.counters());
    walk.go(bins);
    bins.flush_all();
}

} // namespace detreduce::cuda::exact
