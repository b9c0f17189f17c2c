// lib/SPEC.md, evaluated naively: recursive, one value at a time, no SIMD, no threads. The tests
// compare every backend with this file, and this file with the text; it shares nothing with lib/src
// or kernels but names, and the numbers 512 and 8 of the text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <detreduce/types.hpp>

#include "long_sum.hpp"

namespace detreduce::reference {

template <class T>
using Maybe = std::optional<T>; // what may be absent

/// a + b, in float or double.
template <class V>
Maybe<V> add(Maybe<V> left, Maybe<V> right) {
    if (!left) return right;
    if (!right) return left;
    return *left + *right;
}

/// Item of `tree`: one rounded sum.
template <class V>
struct Plain {
    V sum;
};
template <class V>
Plain<V> merged(Plain<V> a, Plain<V> b) {
    return {a.sum + b.sum};
}

/// Item of `kahan` and `compensated`: a rounded sum, and the sum of what was lost by rounding,
/// which no element has.
template <class V>
struct TwoFold {
    V sum;
    Maybe<V> error = {};
};
template <class V>
TwoFold<V> merged(TwoFold<V> a, TwoFold<V> b) {
    const V sum = a.sum + b.sum;
    const V from_b = sum - a.sum, from_a = sum - from_b; // TwoSum
    const V lost = (a.sum - from_a) + (b.sum - from_b);
    return {sum, add(add(a.error, b.error), Maybe<V>(lost))};
}

template <class Item>
Maybe<Item> merge(const Maybe<Item>& left, const Maybe<Item>& right) {
    if (!left) return right;
    if (!right) return left;
    return merged(*left, *right);
}

/// How the eight rows of a chunk are added.
enum class Rows { in_order, in_pairs };

/// A tile: its items, the last of which may be missing, as rows of `lanes`.
template <class Item>
struct Tile {
    std::span<const Item> items;
    std::size_t lanes;
    Rows rows;

    [[nodiscard]] Maybe<Item> item(std::size_t row, std::size_t j) const {
        const std::size_t i = row * lanes + j;
        return i < items.size() ? Maybe<Item>(items[i]) : Maybe<Item>();
    }
    /// Lane j, `count` rows from `first` on, halves first.
    [[nodiscard]] Maybe<Item> in_pairs(std::size_t first, std::size_t count, std::size_t j) const {
        if (count == 1) return item(first, j);
        return merge(in_pairs(first, count / 2, j), in_pairs(first + count / 2, count / 2, j));
    }
    /// Lane j of chunk c.
    [[nodiscard]] Maybe<Item> chunk(std::size_t c, std::size_t j) const {
        if (rows == Rows::in_pairs) return in_pairs(8 * c, 8, j);
        Maybe<Item> sum;
        for (std::size_t row = 8 * c; row < 8 * (c + 1); ++row)
            sum = merge(sum, item(row, j));
        return sum;
    }
    /// Lane j, `count` chunks from `first` on, halves first.
    [[nodiscard]] Maybe<Item> chunks(std::size_t first, std::size_t count, std::size_t j) const {
        if (8 * first * lanes + j >= items.size()) return {}; // as in tree()
        if (count == 1) return chunk(first, j);
        return merge(chunks(first, count / 2, j), chunks(first + count / 2, count / 2, j));
    }
    /// Lanes j, j + stride, j + 2·stride, … as a tree in which lane j meets lane j + lanes/2 first.
    [[nodiscard]] Maybe<Item> tree(std::size_t stride, std::size_t j) const {
        if (j >= items.size()) return {}; // all are absent; said here for the time that short rows would take
        if (stride == lanes) return chunks(0, 8, j);
        return merge(tree(2 * stride, j), tree(2 * stride, j + stride));
    }
};

/// One tile of at least one item.
template <class Item>
Item tile_sum(std::span<const Item> items, std::size_t lanes, Rows rows) {
    return *Tile<Item>{items, lanes, rows}.tree(1, 0);
}

/// Tiles of `lanes` lanes, then tiles of their results, which have `lanes_above` lanes, until one
/// result remains.
template <class Item>
Item tree_of(std::span<const Item> items, std::size_t lanes, std::size_t lanes_above, Rows rows) {
    const std::size_t tile = 64 * lanes;
    std::vector<Item> next;
    for (std::size_t begin = 0; begin < items.size(); begin += tile)
        next.push_back(tile_sum(items.subspan(begin, std::min(tile, items.size() - begin)), lanes, rows));
    return next.size() == 1 ? next[0] : tree_of(std::span<const Item>(next), lanes_above, lanes_above, rows);
}

/// The format in which elements of T are added.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Lanes of items of `bytes` bytes.
constexpr std::size_t lanes_of(std::size_t bytes) {
    return bytes == 1 ? 256 : 512 / bytes;
}

/// The elements as items; every element of T is a number of Sum<T>.
template <template <class> class Item, class T>
std::vector<Item<Sum<T>>> items_of(std::span<const T> x) {
    std::vector<Item<Sum<T>>> items;
    for (const T v : x)
        items.push_back({static_cast<Sum<T>>(value_of(v))});
    return items;
}

template <template <class> class Item, class T>
Item<Sum<T>> tree_of_elements(std::span<const T> x, Rows rows) {
    const auto items = items_of<Item>(x);
    return tree_of(std::span<const Item<Sum<T>>>(items), lanes_of(sizeof(T)), lanes_of(sizeof(Sum<T>)), rows);
}

template <class V>
bool is_number(V x) {
    return x - x == 0;
}

/// An item's value, rounded once to Out.
template <class Out, class V>
Out finished(Plain<V> item) {
    return converted<Out>(item.sum);
}
template <class Out, class V>
Out finished(TwoFold<V> item) {
    if (!is_number(item.sum) || !item.error || !is_number(*item.error) || *item.error == 0)
        return converted<Out>(item.sum);
    LongSum exact;
    exact.add(item.sum);
    exact.add(*item.error);
    return exact.round<Out>();
}

/// f(an item, how rows are added) of a method that adds in the order of section 3; for `atomic`,
/// which has none, those of `tree`.
template <class V, class F>
auto with_item(Method method, const F& f) {
    if (method == Method::compensated) return f(TwoFold<V>{}, Rows::in_pairs);
    if (method == Method::kahan) return f(TwoFold<V>{}, Rows::in_order);
    return f(Plain<V>{}, Rows::in_order);
}

template <class Out, class T>
Out serial_sum(std::span<const T> x) {
    Maybe<Sum<T>> sum;
    for (const T v : x)
        sum = add(sum, Maybe<Sum<T>>(static_cast<Sum<T>>(value_of(v))));
    return converted<Out>(*sum);
}

template <class Out, class T>
Out exact_sum(std::span<const T> x) {
    LongSum sum;
    for (const T v : x)
        sum.add(v);
    return sum.round<Out>();
}

/// The result that SPEC.md gives; for `atomic`, which has none, that of `tree`.
template <class Out, class T>
Out sum(std::span<const T> x, Method method) {
    if (x.empty()) return converted<Out>(0.0);
    if (method == Method::exact || method == Method::automatic) return exact_sum<Out>(x);
    if (method == Method::serial) return serial_sum<Out>(x);
    return with_item<Sum<T>>(method, [&]<template <class> class Item>(Item<Sum<T>>, Rows rows) {
        return finished<Out>(tree_of_elements<Item>(x, rows));
    });
}
template <class T>
T tree_sum(std::span<const T> x) {
    return sum<T>(x, Method::tree);
}

} // namespace detreduce::reference
