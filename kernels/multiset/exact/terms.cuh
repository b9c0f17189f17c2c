// `exact` of the ops: terms (spec/transforms.hpp) instead of elements. Each is made into doubles
// (floats, of products of bf16) without error, which go through the bins of a window. Whether they
// fit is seen from the elements, before they are multiplied: that is cheaper, above all for 16-bit
// formats. A product of doubles is two doubles, its rounded value and the error of that, each with
// bins of its own.
#pragma once

#include "multiset/exact/moment_bins.cuh"

namespace detreduce::cuda::exact {

template <class T, class Map, int V>
struct WarpMemory<Terms<T, Map, V>> {
    Word words[Terms<T, Map, V>::states * acc::exact::words];
    /// Never less than a RoundRoom.
    uint4 copy[Map::inputs == 2 ? 2 : Terms<T, Map, V>::states > 1 ? 2 * short_tile / V : 1][V * warp_size];
    static constexpr int other = Map::inputs - 1; ///< the copy of y; of one input that of x, which is the same
};

/// Limbs for the terms that no window holds, of one input alone; groups have no room for them. A
/// block has 48 KiB of shared memory.
template <class Input>
struct ApartOf {
    using T = typename Input::Type;
    static constexpr bool by_columns = !fp::is_f64<T> && Input::states == 1;
    using LimbsOf = std::conditional_t<
        by_columns, TermColumns<2 * fp::Format<std::conditional_t<fp::has_16_bits<T>, float16, float>>::precision>,
        Limbs<(Input::states > 3   ? 2
               : Input::states > 2 ? 3
                                   : 4)>>;
    LimbsOf of[Input::states];
    int pending[Input::states]; ///< numbers that a thread has added at most; below 0: the limbs have not been used
    int wide_misses;            ///< tiles that add_wide() did not hold

    __device__ __forceinline__ void start() {
        for (int& p : pending)
            p = -1;
        wide_misses = 0;
        sync_warp();
    }
    __device__ __forceinline__ void count_wide_miss() {
        const int now = wide_misses + 1;
        sync_warp();
        wide_misses = now;
        sync_warp();
    }
    /// Makes room for n more numbers of each thread in limbs number s.
    __device__ __forceinline__ void reserve(int s, int n, Word* words) {
        const int before = pending[s];
        if (before < 0) of[s].clear();
        if (before + n > LimbsOf::most) of[s].drain(words);
        sync_warp();
        pending[s] = (before < 0 || before + n > LimbsOf::most ? 0 : before) + n;
        sync_warp();
    }
    __device__ __forceinline__ void finish(Word* words) {
#pragma unroll 1
        for (int s = 0; s < Input::states; ++s) {
            if (pending[s] > 0) of[s].drain(words + s * acc::exact::words);
        }
    }
};
template <class T, class Map, int V>
struct FlatMemory<Terms<T, Map, V>> : WarpMemory<Terms<T, Map, V>> {
    ApartOf<Terms<T, Map, V>> apart;
};

/// A warp's way through the input. If `Flat`, that is the kernel's only one, and there are limbs
/// for terms that no window holds.
template <class T, class Map, int V = short_tile, bool Flat = false>
struct TermWalk {
    using Input = Terms<T, Map, V>;
    using Mine = typename Input::Mine;

    const Input& input;
    WarpMemory<Input>& own;
    std::uint64_t at, warps;
    ApartOf<Input>* apart = nullptr; ///< if Flat, as the next
    bool result_only = false;        ///< see Between
    static constexpr bool counts_minus_zeros =
        Map::transform == Transform::product || Map::transform == Transform::element;
    bool only_minus_zeros = true; ///< perhaps, so far
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

    /// f(term) of part k of each pair of a tile in shared memory.
    template <class F>
    static __device__ __forceinline__ void each_term(const uint4* x, const uint4* y, int k, const F& f) {
#pragma unroll 1
        for (int i = 0; i < Input::each; ++i) { // one at a time, whosever it was: that is little code
            const int at = i * warp_size + threadIdx.x % warp_size;
            const auto a = static_cast<double>(widen(reinterpret_cast<const T*>(x)[at])),
                       b = static_cast<double>(widen(reinterpret_cast<const T*>(y)[at]));
            const transforms::Product<double> p = Map::part(k, a, b);
            if constexpr (Input::has_errors) {
                f(acc::exact::scaled_product(p.a, p.b, p.factor));
            } else {
                f(acc::exact::ScaledProduct{0, Map::linear ? p.a : p.factor * (p.a * p.b), 0.0});
            }
        }
    }
    /// Adds the terms of a tile by windows, wherever they are. Not inlined: few tiles get here. The
    /// same holds for scatter() and add_wide().
    static __device__ __noinline__ void add_far_apart(const uint4* x, const uint4* y, Word* words) {
#pragma unroll 1
        for (int k = 0; k < Map::parts; ++k) {
            Counts counts;
            std::uint32_t largest[Input::states] = {};
            each_term(x, y, k, [&](const acc::exact::ScaledProduct& p) {
                const std::uint32_t m = counts.take(p.value, infinity_of_f64);
#pragma unroll
                for (int s = 0; s < Input::states; ++s)
                    largest[s] = max(largest[s], p.state == s ? m : 0);
            });
            count(counts, words);
#pragma unroll
            for (std::uint32_t& m : largest)
                m = warp_max(m);
#pragma unroll 1
            for (int s = 0; s < Input::states; ++s) {
                const auto each_number = [&](const auto& f) {
                    each_term(x, y, k, [&](const acc::exact::ScaledProduct& p) {
                        f(p.state == s ? p.value : 0.0);
                        if constexpr (Input::has_errors) f(p.state == s ? p.error : 0.0);
                    });
                };
                std::uint32_t most = largest[0];
#pragma unroll
                for (int other = 1; other < Input::states; ++other)
                    most = s == other ? largest[other] : most;
                add_by_windows<significant_bits<T, Map>>(each_number, most, infinity_of_f64, 0,
                                                         words + s * acc::exact::words);
            }
        }
    }
    /// The same to limbs from number `first` on, a term after the other; if `count_only`, no
    /// number. NaN and infinities are always counted, −0 if `counts_zeros`.
    template <class Apart>
    static __device__ __noinline__ void scatter(const uint4* x, const uint4* y, Word* words, Apart& apart, int first,
                                                bool count_only, bool counts_zeros) {
        constexpr bool is_short = !fp::is_f64<T>;
        Counts counts;
#pragma unroll 1
        for (int k = 0; k < Map::parts; ++k) {
#pragma unroll 1
            for (int s = 0; s < Input::states && !count_only; ++s)
                apart.reserve(first + s, Input::has_errors ? 2 * Input::each : Input::each,
                              words + s * acc::exact::words);
            if constexpr (Apart::by_columns) {
#pragma unroll 1
                for (int i = threadIdx.x % warp_size; i < Input::vectors * warp_size; i += warp_size) {
                    const uint4 of_x = x[i], of_y = y[i]; // or else they are loaded byte by byte
                    each<double>(of_x, of_y, [&](double a, double b) {
                        const transforms::Product<double> p = Map::part(k, a, b);
                        const double term = Map::linear ? p.a : p.factor * (p.a * p.b);
                        const bool finite = fp::is_finite(term);
                        if (!finite || counts_zeros) counts.take(term, infinity_of_f64);
                        if (finite && !count_only) apart.of[0].add(term);
                    });
                }
            } else {
                each_term(x, y, k, [&](const acc::exact::ScaledProduct& p) {
                    counts.take(p.value, infinity_of_f64);
                    if (count_only) return;
                    auto& limbs = apart.of[first + p.state];
                    limbs.template add<is_short>(fp::is_finite(p.value) ? p.value : 0.0);
                    if constexpr (Input::has_errors) limbs.add(p.error);
                });
            }
        }
        count(counts, words);
    }
    static __device__ __forceinline__ void count(Counts counts, Word* words) {
        if (!counts_minus_zeros) counts.minus_zeros = 0;
        counts.add_to(words + LongOf<Input::states>::counters);
    }
    /// The same through a wide window, if that holds them.
    static __device__ __noinline__ bool add_wide(const uint4* x, const uint4* y, Word* words) {
        static_assert(Input::each <= WideWindow::adds);
        using BinsOf = TermBins<T, Map, WideWindow>;
        const int lane = threadIdx.x % warp_size;
        Range range_x, range_y;
        Counts counts;
#pragma unroll 1
        for (int i = 0; i < Input::vectors; ++i) {
            const uint4 a = x[i * warp_size + lane], b = y[i * warp_size + lane];
            look<BinsOf>(range_x, range_y, a, b);
        }
        settle<BinsOf>(range_x, range_y);
        BinsOf bins(words + LongOf<Input::states>::counters);
        if (!bins.move(range_x, range_y)) return false;
#pragma unroll 1
        for (int k = 0; k < BinsOf::parts; ++k) {
            bins.drain();
#pragma unroll 1
            for (int i = 0; i < Input::vectors; ++i) {
                const uint4 a = x[i * warp_size + lane], b = y[i * warp_size + lane];
                add_part(bins, k, a, b);
                if (k > 0) continue;
                each<double>(a, b, [&](double c, double d) { counts.minus_zeros += is_minus_zero(c, d); });
            }
        }
        bins.flush_all();
        count(counts, words);
        return true;
    }
    /// The terms of the tile in shared memory to the words of states of M, which begin with number
    /// `first`.
    template <class M>
    __device__ __forceinline__ void add_copied(int first) const {
        using Walk = TermWalk<T, M, V, Flat>;
        const uint4 *const x = own.copy[0], *const y = own.copy[WarpMemory<Input>::other];
        Word* const words = own.words + first * acc::exact::words;
        const bool count_only = Flat && result_only && Counts::any_special(counters());
        if constexpr (Flat || fp::has_16_bits<T>) { // its code would slow short inputs
            if (!count_only && (!Flat || apart->wide_misses <= policy::exact_misses)) {
                if (Walk::add_wide(x, y, words)) return;
                if (Flat) apart->count_wide_miss();
            }
        }
        if constexpr (Flat) {
            Walk::scatter(x, y, words, *apart, first, count_only, only_minus_zeros);
        } else {
            Walk::add_far_apart(x, y, words);
        }
    }
    /// A tile that the window does not hold, or whose −0 are to be counted.
    __device__ __forceinline__ void add_otherwise(const Mine& x, const Mine& y) {
        copy(x, y);
        if constexpr (is_moments<Map>) {
            add_copied<transforms::Element>(0);
            add_copied<transforms::Square>(1);
        } else {
            add_copied<Map>(0);
        }
        if (++slow_tiles % (1u << 16) == 0) {
#pragma unroll 1
            for (int s = 0; s < Input::states; ++s)
                warp_carry(own.words + s * acc::exact::words);
        }
    }

    static __device__ __forceinline__ bool is_minus_zero(double a, double b) {
        return (a == 0 || b == 0) && fp::is_negative(a) != (Input::binary && fp::is_negative(b));
    }
    /// The same of the first elements of these.
    static __device__ __forceinline__ bool is_minus_zero(const uint4& x, const uint4& y) {
        T a, b;
        __builtin_memcpy(&a, &x, sizeof a);
        __builtin_memcpy(&b, &y, sizeof b);
        return is_minus_zero(static_cast<double>(widen(a)), static_cast<double>(widen(b)));
    }
    /// Could all terms of the warp so far be −0? The first one of each thread in this tile, `there`
    /// unless it is behind the end, nearly always shows that they are not. Where they could,
    /// add_otherwise() counts them; where not, no sum of this warp's is −0, and nobody does.
    __device__ __forceinline__ bool may_be_minus_zeros(const Mine& x, const Mine& y, bool there) {
        if (!counts_minus_zeros || !only_minus_zeros) return false;
        only_minus_zeros = all_of_warp(!there || is_minus_zero(x.v[0], y.v[0]));
        return only_minus_zeros;
    }
    /// Puts a tile into shared memory.
    __device__ __forceinline__ void copy(const Mine& x, const Mine& y) {
        sync_warp();
        x.copy_to(own.copy[0]);
        if constexpr (Input::binary) y.copy_to(own.copy[1]);
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
    /// Both of a tile.
    template <class BinsOf>
    static __device__ __forceinline__ void look(Range& range_x, Range& range_y, const Mine& x, const Mine& y) {
#pragma unroll
        for (int i = 0; i < Input::vectors; ++i)
            look<BinsOf>(range_x, range_y, x.v[i], y.v[i]);
        settle<BinsOf>(range_x, range_y);
    }
    /// f(x, y) for each pair of elements, as Element::each_double() has them.
    template <class F>
    static __device__ __forceinline__ void each_moved(const uint4& x, const uint4& y, const F& f) {
        double a[16 / sizeof(T)];
        int i = 0, k = 0;
        Element<T>::each_double(x, [&](double v) { a[i++] = v; });
        Element<T>::each_double(y, [&](double v) { f(a[k++], v); });
    }
    /// Products in one bin, of whose Q they must be multiples, or in all.
    template <bool OneBin, class BinsOf>
    static __device__ __forceinline__ void add_products(BinsOf& bins, const uint4& x, const uint4& y) {
        if constexpr (is_moments<Map>) {
            bins.template add<OneBin>(x);
        } else if constexpr (BinsOf::of_magnitudes) {
            Element<T>::each(kept(x), [&](float m) {
                constexpr std::uint32_t more = fp::Format<double>::max_exponent + BinsOf::moved_zero;
                const double a = __hiloint2double(static_cast<int>((__float_as_uint(m) >> 3) + (more << 20)), 0);
                bins.template add_product<OneBin>(a, a);
            });
        } else {
            constexpr double scale = scale_of_moved<T>;
            each_moved(x, Input::binary ? y : x, [&](double a, double b) {
                if constexpr (BinsOf::by_difference) a = b = a - b;
                bins.template add_product<OneBin>(a * scale, b * scale);
            });
        }
    }
    /// 16-bit elements or their magnitudes.
    static __device__ __forceinline__ uint4 kept(const uint4& x) {
        constexpr bool signs = Map::transform != Transform::magnitude && Map::transform != Transform::square;
        constexpr std::uint32_t keep = signs ? ~0u : 0x7fff7fffu;
        return {x.x & keep, x.y & keep, x.z & keep, x.w & keep};
    }
    /// The quicker ways that all of a warp's elements may go.
    struct Ways {
        bool in_one_bin = false, fours = false;
    };
    static constexpr bool has_fours = moves_elements<T, Map> && std::is_same_v<T, bfloat16>;
    /// Those for elements of these ranges. Threads that do not count have none.
    template <class BinsOf>
    static __device__ __forceinline__ Ways ways_of(const BinsOf& bins, const Range& range, bool counts = true) {
        Ways ways;
        if constexpr (BinsOf::in_one_bin) ways.in_one_bin = all_of_warp(!counts || bins.one_bin.holds(range));
        if constexpr (has_fours && BinsOf::moved) ways.fours = all_of_warp(!counts || Element<T>::fours_fit(range));
        return ways;
    }
    /// Part k of the terms of one load, the quickest way.
    template <class BinsOf>
    static __device__ __forceinline__ void add_part(BinsOf& bins, int k, const uint4& x, const uint4& y, Ways ways) {
        if constexpr (BinsOf::in_one_bin) {
            if (ways.in_one_bin) return add_products<true>(bins, x, y);
        }
        if constexpr (has_fours && BinsOf::moved) {
            if (ways.fours) return bins.values.add_fours(kept(x));
        }
        add_part(bins, k, x, y);
    }
    /// Part k of the terms of one load; they must have room in the bins.
    template <class BinsOf>
    static __device__ __forceinline__ void add_part(BinsOf& bins, int k, const uint4& x, const uint4& y) {
        if constexpr (BinsOf::adds_products) {
            add_products<false>(bins, x, y);
        } else if constexpr (BinsOf::by_difference) {
            each_moved(x, y, [&](double a, double b) { bins.values.add(fabs(a - b)); });
        } else if constexpr (BinsOf::moved) {
            bins.values.add(kept(x));
        } else {
            using N = typename BinsOf::Number;
            each<N>(x, y, [&](N a, N b) {
                const transforms::Product<N> f = Map::finite_part(k, a, b);
                const N p = Map::linear ? f.a : f.a * f.b;
                bins.values.add(Map::linear ? p : f.factor * p);
                if constexpr (Input::has_errors) bins.errors.add(f.factor * fp::fused(f.a, f.b, -p));
            });
        }
    }

    /// Adds a tile; false if no window of these bins holds it.
    template <class BinsOf>
    static __device__ __forceinline__ bool take(BinsOf& bins, const Mine& x, const Mine& y) {
        constexpr int per_vector = 16 / sizeof(T);
        constexpr bool drains_within = Input::each > BinsOf::adds;
        static_assert(!drains_within || !BinsOf::in_one_bin);
        Range range_x, range_y;
        look<BinsOf>(range_x, range_y, x, y);
        const Ways ways = ways_of(bins, range_x);
        if (!ways.in_one_bin && !all_of_warp(bins.holds(range_x, range_y)) && !bins.move(range_x, range_y))
            return false;
#pragma unroll
        for (int k = 0; k < BinsOf::parts; ++k) {
            if constexpr (drains_within)
                bins.added += Input::each;
            else
                bins.reserve(Input::each);
            if constexpr (BinsOf::in_one_bin) {
                if (ways.in_one_bin) {
#pragma unroll
                    for (int i = 0; i < Input::vectors; ++i)
                        add_products<true>(bins, x.v[i], y.v[i]);
                    continue;
                }
            }
#pragma unroll
            for (int i = 0; i < Input::vectors; ++i) {
                add_part(bins, k, x.v[i], y.v[i], ways);
                if (drains_within && (i + 1) * per_vector % BinsOf::adds == 0) bins.drain();
            }
        }
        return true;
    }

    /// Tiles from `at` on: full ones, and, if it is the warp's turn, what remains behind them.
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
            if (may_be_minus_zeros(x, y, there) || !take(bins, x, y)) add_otherwise(x, y);
        }
    }
};

template <class T, class Map, int V>
__device__ __forceinline__ void add_share(const Terms<T, Map, V>& input, FlatMemory<Terms<T, Map, V>>& own,
                                          std::uint64_t first, std::uint64_t warps, const Between& between) {
    own.apart.start();
    TermWalk<T, Map, V, true> walk{input, own, first, warps, &own.apart, between.result_only};
    typename Terms<T, Map, V>::FirstBins bins(walk.counters());
    walk.go(bins);
    bins.flush_all();
    own.apart.finish(own.words);
}

} // namespace detreduce::cuda::exact
