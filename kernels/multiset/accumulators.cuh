// What is kept of elements: the best and where it is, both ends, or a count. From a source
// (sources.cuh) to what a scope found (scopes.cuh).
//
// Comparing goes by keys (spec/order_key.hpp), the largest of which is wanted, 16 bytes at a time.
// For an index each thread also keeps in which of its units the key was first, and looks for the
// element itself only at the end. So the time does not depend on the data.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/plan.hpp>
#include <detreduce/spec/order_key.hpp>

#include "multiset/found.hpp"
#include "multiset/scopes.cuh"
#include "multiset/sources.cuh"

namespace detreduce::cuda::multiset {

/// Keys of T.
template <class T>
struct Keys {
    using Map = spec::KeyMap<T>;
    using Wide = std::conditional_t<fp::is_f64<T>, std::int64_t, std::int32_t>;
    static constexpr bool in_pairs = fp::has_16_bits<T>; ///< two keys in a register
    /// The largest key so far.
    using Running = std::conditional_t<in_pairs, std::uint32_t, Wide>;
    static constexpr Wide lowest = Map::lowest;
    Map map;

    [[nodiscard]] static DETREDUCE_HD Keys of(spec::View view, NanPolicy nan) { return {Map::of(view, nan)}; }

    static __device__ __forceinline__ Running nothing() {
        return in_pairs ? static_cast<Running>(0x80008000u) : static_cast<Running>(lowest);
    }
    __device__ __forceinline__ void take(Running& best, const uint4& v) const {
        if constexpr (in_pairs) {
            const std::uint32_t words[] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (const std::uint32_t w : words)
                take_both(best, w);
        } else {
            T elements[fp::Format<T>::elements_in_16_bytes];
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
            return map.settled(static_cast<typename Map::Key>(best));
        }
    }
    /// Of one of the halves.
    [[nodiscard]] __device__ __forceinline__ Wide settled_half(std::uint32_t best, int half) const {
        return map.settled(static_cast<typename Map::Key>(static_cast<std::uint16_t>(best >> 16 * half)));
    }
    [[nodiscard]] __host__ __device__ __forceinline__ Wide key(T x) const {
        return map.settled(map.key(x));
    }
    [[nodiscard]] __device__ __forceinline__ T element(std::int64_t key) const {
        return map.element(static_cast<typename Map::Key>(key));
    }
    /// As Map::key(), for both halves of w.
    __device__ __forceinline__ void take_both(std::uint32_t& best, std::uint32_t w) const {
        constexpr std::uint32_t both = 0x10001u;
        w &= map.keep * both;
        w ^= (signs_of_both(w) & (Map::magnitude_mask * both)) ^ (map.flip * both);
        best = __viaddmax_s16x2(w, map.add * both, best);
    }
};

/// min, max, nrminf, argmin and argmax.
template <class T>
struct Best : FoundBest {
    using Type = T;
    using Wide = typename Keys<T>::Wide;
    static constexpr int grid_blocks = policy::compare.blocks, ///< that a multiprocessor is to hold
        thread_blocks = policy::compare_groups;                ///< the same of ThreadScope; 0: as it comes
    Keys<T> keys[1];
    bool index, state;
    Wide empty_key; ///< of no elements

    [[nodiscard]] static Best of(const Request& r) {
        const auto k = Keys<T>::of(spec::view_of(r.op), r.nan);
        return {{}, {k}, info(r.op).gives_integer, r.state, r.op == Op::nrminf ? k.key(T{}) : Wide{k.map.nan}};
    }
    /// Of no elements; of a segment that is none, if not `valid`.
    [[nodiscard]] __host__ __device__ __forceinline__ Found empty(bool valid) const {
        if (state && valid) return identity();
        return {valid ? empty_key : Wide{keys[0].map.nan}, no_index};
    }
    template <class Scope, class Source>
    [[nodiscard]] __device__ __forceinline__ Found look(const Scope& scope, const Source& source) const {
        Seen<Source> seen(source);
        source.for_units([&](std::uint32_t unit, const auto& vectors) {
            auto running = Keys<T>::nothing();
#pragma unroll
            for (const uint4& v : vectors.v)
                keys[0].take(running, v);
            const Wide k = keys[0].settled(running);
            if (k > seen.best) {
                seen.best = k;
                seen.unit = unit;
            }
        });
        source.for_odd([&](auto at, T x) {
            const Wide k = keys[0].key(x);
            if (seen.odd_at != Seen<Source>::none && k <= seen.odd_best) return;
            seen.odd_best = k;
            seen.odd_at = at;
        });
        const Wide key = scope.reduce(seen.best > seen.odd_best ? seen.best : seen.odd_best, Larger{});
        Found found{key, 0};
        if (index) found.second = scope.reduce(find(source, seen, key), Lower{});
        return found;
    }
    __device__ __forceinline__ void look_at_pair(const ColumnPair<T>& source, Found (&found)[2]) const {
        Wide best[2] = {Keys<T>::lowest, Keys<T>::lowest};
        std::uint32_t block_of[2] = {0, 0}; // which has it first
        source.for_blocks([&](std::uint32_t block, const auto& words) {
            auto running = Keys<T>::nothing();
#pragma unroll
            for (const std::uint32_t w : words)
                keys[0].take_both(running, w);
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const Wide k = keys[0].settled_half(running, c);
                if (k <= best[c]) continue;
                best[c] = k;
                block_of[c] = block;
            }
        });
#pragma unroll
        for (int c = 0; c < 2; ++c)
            found[c] = {best[c], index ? find(source, block_of[c], c, best[c]) : 0};
    }

  private:
    /// The lowest index of an element with this key in the block, which has one.
    [[nodiscard]] static __device__ __forceinline__ T half(std::uint32_t word, int which) {
        return fp::from_bits<T>(static_cast<std::uint16_t>(word >> 16 * which));
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t find(const ColumnPair<T>& source, std::uint32_t block,
                                                                int which, Wide key) const {
        std::uint32_t words[ColumnPair<T>::rows];
        source.load(block, words);
        int first = 0;
#pragma unroll
        for (int j = ColumnPair<T>::rows - 1; j >= 0; --j)
            first = keys[0].key(half(words[j], which)) == key ? j : first;
        return source.row(block, first);
    }
    /// What a thread has seen: the largest key of its units, with the first of them that has it,
    /// and of its odd elements.
    template <class Source>
    struct Seen {
        using Index = typename Source::Index;
        static constexpr Index none = static_cast<Index>(~Index{0});
        Wide best = Keys<T>::lowest, odd_best = Keys<T>::lowest;
        std::uint32_t unit;
        Index odd_at = none;
        __device__ __forceinline__ explicit Seen(const Source& source) : unit(source.first_unit()) {}
    };
    /// The lowest index with this key that the thread has seen; it has seen no larger one.
    template <class Source>
    [[nodiscard]] __device__ __forceinline__ typename Source::Index find(const Source& source, const Seen<Source>& seen,
                                                                         Wide key) const {
        using Index = typename Source::Index;
        Index found = seen.odd_best == key ? seen.odd_at : Seen<Source>::none;
        if (seen.best != key || !source.has(seen.unit)) return found;
        const auto vectors = source.unit(seen.unit);
        constexpr int per_vector = Source::per_vector, none_here = Source::unit_vectors * per_vector;
        int first = none_here; // of the unit's elements, whose indices ascend
#pragma unroll
        for (int i = Source::unit_vectors - 1; i >= 0; --i) {
            T elements[per_vector];
            __builtin_memcpy(elements, &vectors.v[i], sizeof elements);
#pragma unroll
            for (int e = per_vector - 1; e >= 0; --e)
                first = keys[0].key(elements[e]) == key ? i * per_vector + e : first;
        }
        const Index at = source.index(seen.unit, first / per_vector, first % per_vector);
        if (first != none_here && at < found) found = at;
        return found;
    }
};

/// minmax.
template <class T>
struct Ends : FoundEnds {
    using Type = T;
    using Wide = typename Keys<T>::Wide;
    static constexpr int grid_blocks = policy::compare_ends.blocks;
    static constexpr int thread_blocks = fp::is_f64<T>        ? policy::compare_groups_f64
                                         : fp::has_16_bits<T> ? policy::compare_groups_16_bits
                                                              : policy::compare_groups;
    Keys<T> keys[2]; ///< of the minimum, of the maximum
    bool state;

    [[nodiscard]] static Ends of(const Request& r) {
        return {{}, {Keys<T>::of(spec::View::minimum, r.nan), Keys<T>::of(spec::View::maximum, r.nan)}, r.state};
    }
    [[nodiscard]] __host__ __device__ __forceinline__ Found empty(bool valid) const {
        if (state && valid) return identity();
        return found_of(keys[0].map.nan, keys[1].map.nan);
    }
    template <class Scope, class Source>
    [[nodiscard]] __device__ __forceinline__ Found look(const Scope& scope, const Source& source) const {
        const Keys<T> minimum = of_view(keys[0], spec::View::minimum), maximum = of_view(keys[1], spec::View::maximum);
        auto low = Keys<T>::nothing(), high = Keys<T>::nothing();
        source.for_units([&](std::uint32_t, const auto& vectors) {
#pragma unroll
            for (const uint4& v : vectors.v) {
                minimum.take(low, v);
                maximum.take(high, v);
            }
        });
        Wide of_minimum = minimum.settled(low), of_maximum = maximum.settled(high);
        source.for_odd([&](auto, T x) {
            of_minimum = max(of_minimum, minimum.key(x));
            of_maximum = max(of_maximum, maximum.key(x));
        });
        const Wide first = scope.reduce(of_minimum, Larger{});
        scope.meet();
        return found_of(first, scope.reduce(of_maximum, Larger{}));
    }
    __device__ __forceinline__ void look_at_pair(const ColumnPair<T>& source, Found (&found)[2]) const {
        const Keys<T> minimum = of_view(keys[0], spec::View::minimum), maximum = of_view(keys[1], spec::View::maximum);
        auto low = Keys<T>::nothing(), high = Keys<T>::nothing();
        source.for_blocks([&](std::uint32_t, const auto& words) {
#pragma unroll
            for (const std::uint32_t w : words) {
                minimum.take_both(low, w);
                maximum.take_both(high, w);
            }
        });
#pragma unroll
        for (int c = 0; c < 2; ++c)
            found[c] = found_of(minimum.settled_half(low, c), maximum.settled_half(high, c));
    }

  private:
    /// Of a view that the compiler knows, which saves it half the instructions (f64 .78, else .95).
    [[nodiscard]] static __device__ __forceinline__ Keys<T> of_view(Keys<T> keys, spec::View view) {
        const auto known = spec::KeyMap<T>::of(view, NanPolicy::propagate);
        keys.map.keep = known.keep;
        keys.map.flip = known.flip;
        return keys;
    }
    [[nodiscard]] static __host__ __device__ __forceinline__ Found found_of(std::int64_t of_minimum,
                                                                            std::int64_t of_maximum) {
        return {of_minimum, static_cast<std::uint64_t>(of_maximum)};
    }
};

/// The last bit of each half of w that is not zero, signs aside: a magnitude other than 0 carries
/// into the place of the sign.
[[nodiscard]] __device__ __forceinline__ std::uint32_t nonzero_halves(std::uint32_t w) {
    constexpr std::uint32_t magnitudes = 0x7fff7fff;
    return (((w & magnitudes) + magnitudes) & ~magnitudes) >> 15;
}
/// Elements of v that are not zero.
template <class T>
[[nodiscard]] __device__ __forceinline__ std::uint32_t count_nonzeros(const uint4& v) {
    std::uint32_t found = 0;
    if constexpr (fp::has_16_bits<T>) {
        const std::uint32_t words[] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (const std::uint32_t w : words)
            found += __popc(nonzero_halves(w));
    } else {
        T elements[fp::Format<T>::elements_in_16_bytes];
        __builtin_memcpy(elements, &v, sizeof v);
#pragma unroll
        for (const T x : elements)
            found += fp::magnitude_bits(x) != 0;
    }
    return found;
}

/// count_nonzero.
template <class T>
struct Count : FoundCount {
    using Type = T;
    static constexpr int grid_blocks = policy::compare.blocks, thread_blocks = policy::compare_groups;

    [[nodiscard]] static Count of(const Request&) { return {}; }
    [[nodiscard]] __host__ __device__ __forceinline__ Found empty(bool) const { return identity(); }
    template <class Scope, class Source>
    [[nodiscard]] __device__ __forceinline__ Found look(const Scope& scope, const Source& source) const {
        typename Source::Index count = 0;
        source.for_units([&](std::uint32_t, const auto& vectors) {
            std::uint32_t here = 0;
#pragma unroll
            for (const uint4& v : vectors.v)
                here += count_nonzeros<T>(v);
            count += here;
        });
        source.for_odd([&](auto, T x) { count += fp::magnitude_bits(x) != 0; });
        return {0, scope.reduce(count, Plus{})};
    }
    __device__ __forceinline__ void look_at_pair(const ColumnPair<T>& source, Found (&found)[2]) const {
        std::uint32_t low = 0, high = 0;
        source.for_blocks([&](std::uint32_t block, const auto& words) {
            std::uint32_t both = 0;
#pragma unroll
            for (int j = 0; j < ColumnPair<T>::rows; ++j)
                both += block + j < source.n ? nonzero_halves(words[j]) : 0;
            low += both & 0xffff;
            high += both >> 16;
        });
        found[0] = {0, low};
        found[1] = {0, high};
    }
};

/// f(the accumulator of r's op).
template <class T, class F>
[[nodiscard]] Status with_accumulator(const Request& r, const F& f) {
    if (r.op == Op::minmax) return f(Ends<T>::of(r));
    if (r.op == Op::count_nonzero) return f(Count<T>::of(r));
    return f(Best<T>::of(r));
}

} // namespace detreduce::cuda::multiset
