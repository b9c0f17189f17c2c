// What `exact` adds up: the term of an op (spec/transforms.hpp), or, for mean and variance,
// elements and their squares at once.
#pragma once

#include <detreduce/acc/exact.hpp>
#include <detreduce/spec/transforms.hpp>
#include <detreduce/types.hpp>

namespace detreduce::cuda::exact {

/// Σx and Σx² from the same loads, each in states of its own, that of Σx first.
struct Moments {
    static constexpr Transform transform = Transform::element;
    static constexpr int inputs = 1, parts = 1;
    static constexpr bool linear = false;
};
template <class Map>
inline constexpr bool is_moments = std::is_same_v<Map, Moments>;

/// States that terms of T are added to. Products of doubles may leave the range of double, and take
/// more than one.
template <class T, class Map>
inline constexpr int states_of = (fp::is_f64<T> && !Map::linear ? acc::exact::product_states : 1) +
                                 (is_moments<Map> ? 1 : 0);

/// Elements of 16 bits, or their magnitudes: moved into doubles, which takes fewer instructions
/// than to convert them, and added in one bin, which holds 38 binades of bf16 and all of f16.
template <class T, class Map>
inline constexpr bool moves_elements = fp::has_16_bits<T>&& Map::linear&& Map::inputs == 1;

/// Terms whose sums are often doubles that were never rounded (spec::plain_binades()).
template <class T, class Map>
inline constexpr bool may_be_plain = Map::linear&& Map::inputs == 1 && !fp::is_f64<T>;

/// Bins of a thread that adds up a column. Products span twice the binades of their elements: two
/// bins do not hold one column in ten of 4096 normal doubles, so that there is a third. Squared
/// differences of floats keep two: what a wider window holds need not have a double for x − y.
template <class T, class Map>
inline constexpr int column_bins = Map::linear || fp::has_16_bits<T> || (Map::parts > 1 && !fp::is_f64<T>) ? 2 : 3;
/// Sums that a thread keeps of terms of T at most.
template <class T, class Map>
inline constexpr int part_words = column_bins<T, Map>*(fp::is_f64<T> && !Map::linear ? 2 : 1) +
                                  (is_moments<Map> ? 2 : 0);

/// Threads of a block that adds up columns: moments of doubles have shared memory for four warps.
constexpr std::uint32_t column_threads(bool doubles, bool moments) {
    return doubles && moments ? 128 : 256;
}

/// f(Map{}) for what the op adds up.
template <class F>
constexpr decltype(auto) with_map(Op op, const F& f) {
    if (info(op).kind == Kind::moments) return f(Moments{});
    return transforms::with_term(info(op).transform, f);
}

} // namespace detreduce::cuda::exact
