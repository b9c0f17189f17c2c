// lib/SPEC.md, evaluated naively: recursive, one value at a time, no SIMD, no threads. The tests compare every backend with
// this file, and this file with the text; it shares nothing with lib/src or kernels but the numbers 512 and 8 of the text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace detreduce::reference {

template <class T>
using Maybe = std::optional<T>; // an item that may be absent

template <class T>
Maybe<T> add(Maybe<T> left, Maybe<T> right) {
    if (!left) return right;
    if (!right) return left;
    return *left + *right;
}

/// SPEC 3.2: lane j of chunk c adds its 8 items in order.
template <class T>
Maybe<T> lane_of_chunk(std::span<const T> tile, std::size_t lanes, std::size_t c, std::size_t j) {
    Maybe<T> sum;
    for (std::size_t row = 8 * c; row < 8 * (c + 1); ++row) {
        const std::size_t i = row * lanes + j;
        if (i < tile.size()) sum = add(sum, Maybe<T>(tile[i]));
    }
    return sum;
}

/// SPEC 3.3: a lane's chunks first … first + count − 1, halves first.
template <class T>
Maybe<T> lane(std::span<const T> tile, std::size_t lanes, std::size_t first, std::size_t count, std::size_t j) {
    if (count == 1) return lane_of_chunk(tile, lanes, first, j);
    return add(lane(tile, lanes, first, count / 2, j), lane(tile, lanes, first + count / 2, count / 2, j));
}

/// SPEC 3.4: lanes j, j + stride, j + 2·stride, … as a tree in which lane j meets lane j + lanes/2 first.
template <class T>
Maybe<T> lane_tree(std::span<const T> tile, std::size_t lanes, std::size_t stride, std::size_t j) {
    if (stride == lanes) return lane(tile, lanes, 0, 8, j);
    return add(lane_tree(tile, lanes, 2 * stride, j), lane_tree(tile, lanes, 2 * stride, j + stride));
}

/// SPEC 3.5: tiles, then tiles of their results, until one is left.
template <class T>
T tree_of(std::span<const T> items) {
    const std::size_t lanes = 512 / sizeof(T), tile = 64 * lanes;
    std::vector<T> next;
    for (std::size_t begin = 0; begin < items.size(); begin += tile) {
        const auto part = items.subspan(begin, std::min(tile, items.size() - begin));
        next.push_back(*lane_tree(part, lanes, 1, 0));
    }
    return next.size() == 1 ? next[0] : tree_of(std::span<const T>(next));
}

/// SPEC 2: the canonical NaN.
template <class T>
T canonical(T x) {
    return x != x ? std::numeric_limits<T>::quiet_NaN() : x;
}

template <class T>
T tree_sum(std::span<const T> x) {
    return x.empty() ? T(0) : canonical(tree_of(x));
}

/// SPEC 4.
template <class T>
T serial_sum(std::span<const T> x) {
    if (x.empty()) return T(0);
    T sum = x[0];
    for (const T v : x.subspan(1))
        sum = sum + v;
    return canonical(sum);
}

} // namespace detreduce::reference
