// What is kept of elements: the best and where it is, both ends, or a count. From a source
// (sources.cuh) to what a scope found (scopes.cuh).
//
// Comparing goes by keys (spec/order_key.hpp), the largest of which is wanted, 16 bytes at a time.
// For an index each thread also keeps in which of its units the key was first, and looks for the
// element itself only at the end. Of columns a few rows are a unit. So the time does not depend on
// the data.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/plan.hpp>
#include <detreduce/spec/order_key.hpp>

#include "multiset/found.hpp"
#include "multiset/scopes.cuh"
#include "multiset/sources.cuh"

namespace detreduce::cuda::multiset {

/// Keys of T, of a word at a time: of an element, or of two of 16 bits.
template <class T>
struct Keys {
    using Map = spec::KeyMap<T>;
    using Wide = std::conditional_t<fp::is_f64<T>, std::int64_t, std::int32_t>;
    static constexpr bool in_pairs = fp::has_16_bits<T>;
    using Word = std::conditional_t<in_pairs, std::uint32_t, fp::Bits<T>>;
    using Running = std::conditional_t<in_pairs, std::uint32_t, Wide>; ///< the largest keys so far
    static constexpr int in_word = sizeof(Word) / sizeof(T);
    static constexpr Wide lowest = Map::lowest;
    struct Words {
        Word w[16 / sizeof(Word)];
    };
    Map map;

    [[nodiscard]] static DETREDUCE_HD Keys of(spec::View view, NanPolicy nan) { return {Map::of(view, nan)}; }

    /// A key for each element of a word.
    [[nodiscard]] static __device__ __forceinline__ Running each(typename Map::Key k) {
        return in_pairs ? static_cast<fp::Bits<T>>(k) * 0x10001u : static_cast<Running>(k);
    }
    static __device__ __forceinline__ Running nothing() { return each(Map::lowest); }
    [[nodiscard]] static __device__ __forceinline__ Running larger(Running a, Running b) {
        return in_pairs ? __vmaxs2(a, b) : max(a, b);
    }
    /// Do the keys of element `which` differ?
    [[nodiscard]] static __device__ __forceinline__ bool differ(Running a, Running b, int which) {
        if constexpr (!in_pairs) return a != b;
        return ((a ^ b) & (which == 0 ? 0xffffu : 0xffff0000u)) != 0;
    }
    /// As Map::key().
    __device__ __forceinline__ void take(Running& best, Word w) const {
        if constexpr (in_pairs) {
            w &= each(map.keep);
            w ^= (signs_of_both(w) & each(Map::magnitude_mask)) ^ each(map.flip);
            best = __viaddmax_s16x2(w, each(map.add), best);
        } else {
            best = max(best, static_cast<Wide>(map.key(fp::from_bits<T>(w))));
        }
    }
    __device__ __forceinline__ void take(Running& best, const uint4& v) const {
        const auto words = __builtin_bit_cast(Words, v);
#pragma unroll
        for (const Word w : words.w)
            take(best, w);
    }
    /// The largest keys of N words, one for every NaN.
    template <int N, class W>
    [[nodiscard]] __device__ __forceinline__ Running settled_words(const W* words) const {
        Running k = each(map.low);
#pragma unroll
        for (int i = 0; i < N; ++i)
            take(k, static_cast<Word>(words[i]));
        return in_pairs ? __vmins2(k, each(map.high)) : min(k, each(map.high));
    }
    [[nodiscard]] __device__ __forceinline__ Wide settled(Running best, int which) const {
        return map.settled(static_cast<typename Map::Key>(in_pairs ? best >> 16 * which : best));
    }
    /// The largest of a word's.
    [[nodiscard]] __device__ __forceinline__ Wide settled(Running best) const {
        return settled(in_pairs ? __vmaxs2(best, best >> 16) : best, 0);
    }
    [[nodiscard]] __host__ __device__ __forceinline__ Wide key(T x) const {
        return map.settled(map.key(x));
    }
    [[nodiscard]] __device__ __forceinline__ T element(std::int64_t key) const {
        return map.element(static_cast<typename Map::Key>(key));
    }
};

/// min, max, nrminf, argmin and argmax.
template <class T>
struct Best : FoundBest {
    using Type = T;
    using Wide = typename Keys<T>::Wide;
    static constexpr int grid_blocks = policy::compare.blocks; ///< that a multiprocessor is to hold
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
    template <int C>
    __device__ __forceinline__ void look_at_columns(const ColumnPart<T, C>& source, Found (&found)[C]) const {
        constexpr int few = C == 2 ? 8 : 4;
        auto best = Keys<T>::nothing();
        std::uint32_t first[C] = {}; // of the first few rows that have it
        source.for_blocks([&](std::uint32_t block, const auto& words) {
#pragma unroll
            for (int j = 0; j < source.rows; j += few) {
                const auto more = Keys<T>::larger(keys[0].template settled_words<few>(words + j), best);
#pragma unroll
                for (int c = 0; c < C; ++c)
                    first[c] = Keys<T>::differ(more, best, c) ? block + j : first[c];
                best = more;
            }
        });
#pragma unroll
        for (int c = 0; c < C; ++c) {
            found[c] = {keys[0].settled(best, c), 0};
            if (!index) continue;
            typename ColumnPart<T, C>::Word words[few];
            source.load(first[c], words);
            std::uint32_t row = 0;
#pragma unroll
            for (int j = few - 1; j >= 0; --j)
                row = Keys<T>::differ(keys[0].template settled_words<1>(words + j), best, c) ? row : j;
            found[c].second = first[c] + row;
        }
    }

  private:
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
        const auto wanted = Keys<T>::each(static_cast<typename Keys<T>::Map::Key>(key));
        int first = 0; // of the unit's elements, whose indices ascend: one of them has the key
#pragma unroll
        for (int i = Source::unit_vectors - 1; i >= 0; --i) {
            const auto words = __builtin_bit_cast(typename Keys<T>::Words, vectors.v[i]);
#pragma unroll
            for (int e = Source::per_vector - 1; e >= 0; --e) {
                const auto k = keys[0].template settled_words<1>(words.w + e / Keys<T>::in_word);
                if (!Keys<T>::differ(k, wanted, e % Keys<T>::in_word)) first = i * Source::per_vector + e;
            }
        }
        return min(found, source.index(seen.unit, first / Source::per_vector, first % Source::per_vector));
    }
};

/// minmax.
template <class T>
struct Ends : FoundEnds {
    using Type = T;
    using Wide = typename Keys<T>::Wide;
    static constexpr int grid_blocks = policy::compare_ends.blocks;
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
    template <int C>
    __device__ __forceinline__ void look_at_columns(const ColumnPart<T, C>& source, Found (&found)[C]) const {
        const Keys<T> minimum = of_view(keys[0], spec::View::minimum), maximum = of_view(keys[1], spec::View::maximum);
        auto low = Keys<T>::nothing(), high = Keys<T>::nothing();
        source.for_blocks([&](std::uint32_t, const auto& words) {
#pragma unroll
            for (const auto w : words) {
                minimum.take(low, w);
                maximum.take(high, w);
            }
        });
#pragma unroll
        for (int c = 0; c < C; ++c)
            found[c] = found_of(minimum.settled(low, c), maximum.settled(high, c));
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
/// Elements of a word that are not zero.
template <class T>
[[nodiscard]] __device__ __forceinline__ std::uint32_t count_nonzeros(typename Keys<T>::Word w) {
    if constexpr (fp::has_16_bits<T>) return __popc(nonzero_halves(w));
    return fp::magnitude_bits(fp::from_bits<T>(w)) != 0;
}

/// count_nonzero.
template <class T>
struct Count : FoundCount {
    using Type = T;
    static constexpr int grid_blocks = policy::compare.blocks;

    [[nodiscard]] static Count of(const Request&) { return {}; }
    [[nodiscard]] __host__ __device__ __forceinline__ Found empty(bool) const { return identity(); }
    template <class Scope, class Source>
    [[nodiscard]] __device__ __forceinline__ Found look(const Scope& scope, const Source& source) const {
        typename Source::Index count = 0;
        source.for_units([&](std::uint32_t, const auto& vectors) {
            std::uint32_t here = 0;
#pragma unroll
            for (const uint4& v : vectors.v) {
                const auto words = __builtin_bit_cast(typename Keys<T>::Words, v);
#pragma unroll
                for (const auto w : words.w)
                    here += count_nonzeros<T>(w);
            }
            count += here;
        });
        source.for_odd([&](auto, T x) { count += fp::magnitude_bits(x) != 0; });
        return {0, scope.reduce(count, Plus{})};
    }
    template <int C>
    __device__ __forceinline__ void look_at_columns(const ColumnPart<T, C>& source, Found (&found)[C]) const {
        std::uint32_t counts[C] = {};
        source.for_blocks([&](std::uint32_t block, const auto& words) {
            std::uint32_t both = 0; // a half for each column, if there are two
#pragma unroll
            for (int j = 0; j < source.rows; ++j) {
                if (block + j < source.n) both += C == 2 ? nonzero_halves(words[j]) : count_nonzeros<T>(words[j]);
            }
#pragma unroll
            for (int c = 0; c < C; ++c)
                counts[c] += both >> 16 * c & 0xffff;
        });
#pragma unroll
        for (int c = 0; c < C; ++c)
            found[c] = {0, counts[c]};
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
