// lib/SPEC.md, section 11, evaluated naively: significands and exponents taken apart and put
// together by <cmath>. For the tests, as spec_reference.hpp.
#pragma once

#include <cmath>
#include <span>

#include <detreduce/types.hpp>

#include "spec_reference.hpp"

namespace detreduce::reference {

/// Makes a number s · 2^k of s with 1 ≤ |s| < 2, and says which k; zeros, infinities and NaN stay.
template <class V>
long long split_exponent(V& s) {
    if (s == 0 || !is_number(s)) return 0;
    int k = 0;
    s = 2 * std::frexp(s, &k);
    return k - 1;
}

/// Item of `tree` and `serial`: s · 2^k.
template <class V>
struct Factor {
    V s;
    long long k = 0;
};
template <class V>
Factor<V> merged(Factor<V> a, Factor<V> b) {
    Factor<V> product{a.s * b.s, a.k + b.k};
    product.k += split_exponent(product.s);
    return product;
}
/// Item of `compensated`: (s + e) · 2^k.
template <class V>
struct TwoFactor {
    V s;
    long long k = 0;
    V e = 0;
};
template <class V>
TwoFactor<V> merged(TwoFactor<V> a, TwoFactor<V> b) {
    const V p = a.s * b.s;
    if (p == 0 || !is_number(p)) return {p};
    const V lost = std::fma(a.s, b.s, -p), cross = std::fma(a.e, b.s, a.s * b.e), rest = lost + cross;
    V s = p + rest;
    const V e = rest - (s - p);
    const long long k = split_exponent(s);
    return {s, a.k + b.k + k, std::ldexp(e, static_cast<int>(-k))};
}

/// ±column · 2^k, rounded to nearest, ties to even: as rounded(), for exponents that no column
/// holds.
template <class T>
T rounded_times(const Column& column, bool negative, long long k) {
    using L = Layout<T>;
    const long long bias = (1 << (L::exponent_bits - 1)) - 1, highest = column.highest_bit() + k;
    if (highest > bias) return infinity_of<T>(negative);
    const bool subnormal = highest < 1 - bias;
    const long long last = (subnormal ? 1 - bias : highest) - L::fraction_bits;
    if (last - 1 > highest) return zero_of<T>(negative); // less than half of the smallest number
    const auto bit = [&](long long e) { return column.bit(static_cast<int>(e - k)); };
    std::uint64_t units = 0;
    for (long long e = highest; e >= last; --e)
        units = 2 * units + bit(e);
    bool more_than_half = false;
    for (long long e = last - 2; e >= Column::lowest + k && !more_than_half; --e)
        more_than_half = bit(e);
    const bool up = bit(last - 1) && (more_than_half || units % 2 == 1);
    const std::uint64_t field = subnormal ? 0 : static_cast<std::uint64_t>(highest + bias - 1);
    const std::uint64_t sign = (negative ? std::uint64_t{1} : 0) << (L::exponent_bits + L::fraction_bits);
    return from_raw<T>(sign | ((field << L::fraction_bits) + units + (up ? 1 : 0)));
}

/// (s + e) · 2^k, rounded once; |e| is much less than |s|.
template <class Out>
Out product_rounded(double s, double e, long long k) {
    if (s == 0 || !is_number(s)) return converted<Out>(s);
    Column column, error;
    const Pieces of_s = pieces_of(s), of_e = pieces_of(e);
    column.add(of_s.significand, of_s.exponent);
    error.add(of_e.significand, of_e.exponent);
    if (of_s.negative == of_e.negative) {
        column.add(of_e.significand, of_e.exponent);
    } else {
        column.subtract(error);
    }
    return rounded_times<Out>(column, of_s.negative, k);
}

template <template <class> class Item, class T>
std::vector<Item<Sum<T>>> factors_of(std::span<const T> x) {
    auto items = items_of<Item>(x);
    for (auto& item : items)
        item.k = split_exponent(item.s);
    return items;
}

/// The result that SPEC.md gives, for the methods that there are.
template <class Out, class T>
Out product(std::span<const T> x, Method method) {
    if (x.empty()) return converted<Out>(1.0);
    const std::size_t lanes = lanes_of(sizeof(T)), above = lanes_of(sizeof(Sum<T>));
    if (method == Method::compensated) {
        const auto items = factors_of<TwoFactor>(x);
        const auto root = tree_of(std::span<const TwoFactor<Sum<T>>>(items), lanes, above, Rows::in_pairs);
        return product_rounded<Out>(root.s, root.e, root.k);
    }
    const auto items = factors_of<Factor>(x);
    auto root = items[0];
    if (method == Method::serial) {
        for (std::size_t i = 1; i < items.size(); ++i)
            root = merged(root, items[i]);
    } else {
        root = tree_of(std::span<const Factor<Sum<T>>>(items), lanes, above, Rows::in_order);
    }
    return product_rounded<Out>(root.s, 0.0, root.k);
}

} // namespace detreduce::reference
