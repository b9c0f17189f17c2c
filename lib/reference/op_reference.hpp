// lib/SPEC.md, section 8, evaluated naively: the ops, for every method but `exact`, whose results
// the oracle in accuracy/ gives.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include <detreduce/types.hpp>

#include "spec_reference.hpp"

namespace detreduce::reference {

/// A term and its error, in float or double.
template <class V>
TwoFold<V> split_product(V a, V b) {
    const V p = a * b;
    return {p, std::fma(a, b, -p)};
}
template <class V>
TwoFold<V> split_difference(V a, V b) {
    return merged(TwoFold<V>{a}, TwoFold<V>{-b}); // TwoSum
}
template <class V>
TwoFold<V> split_term(Transform term, V x, V y) {
    switch (term) {
    case Transform::magnitude:
        return {std::fabs(x)};
    case Transform::square:
        return split_product(x, x);
    case Transform::product:
        return split_product(x, y);
    case Transform::squared_difference: {
        const TwoFold<V> d = split_difference(x, y), p = split_product(d.sum, d.sum);
        const V cross = 2 * d.sum * *d.error;
        return {p.sum, *p.error + cross};
    }
    case Transform::absolute_difference: {
        const TwoFold<V> d = split_difference(x, y);
        return {std::fabs(d.sum), std::signbit(d.sum) ? -*d.error : *d.error};
    }
    case Transform::element:
        break;
    }
    return {x};
}

template <class V>
void set(Plain<V>& item, const TwoFold<V>& term) {
    item.sum = term.sum;
}
template <class V>
void set(TwoFold<V>& item, const TwoFold<V>& term) {
    item = term;
}

template <template <class> class Item, class T>
std::vector<Item<Sum<T>>> terms_of(Transform term, std::span<const T> x, std::span<const T> y) {
    using V = Sum<T>;
    std::vector<Item<V>> items(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const V other = y.empty() ? V(0) : static_cast<V>(value_of(y[i]));
        set(items[i], split_term(term, static_cast<V>(value_of(x[i])), other));
    }
    return items;
}

/// Section 8.2.
template <class Out>
Out ended(double s, double e, Finalize finalize, double n) {
    if (!is_number(e)) e = 0;
    if (!is_number(s)) return converted<Out>(s);
    double q = s, r = e;
    if (finalize == Finalize::mean) {
        q = s / n;
        r = (std::fma(-q, n, s) + e) / n;
    } else if (finalize == Finalize::root) {
        q = std::sqrt(s);
        r = (std::fma(-q, q, s) + e) / (2 * q);
    }
    if (!is_number(q) || !is_number(r) || r == 0) return converted<Out>(q);
    LongSum exact;
    exact.add(q);
    exact.add(r);
    return exact.round<Out>();
}
template <class Out, class V>
Out ended(Plain<V> item, Finalize finalize, std::size_t n) {
    return ended<Out>(item.sum, 0.0, finalize, static_cast<double>(n));
}
template <class Out, class V>
Out ended(TwoFold<V> item, Finalize finalize, std::size_t n) {
    return ended<Out>(item.sum, item.error ? *item.error : 0.0, finalize, static_cast<double>(n));
}

/// The result that SPEC.md gives; not for `exact`. For `atomic`, which has none, that of `tree`.
/// n ≥ 1.
template <class Out, class T>
Out reduce(Op op, std::span<const T> x, std::span<const T> y, Method method) {
    using V = Sum<T>;
    const Transform term = info(op).transform;
    const Finalize finalize = info(op).finalize;
    if (method == Method::serial) {
        const auto terms = terms_of<Plain>(term, x, y);
        V sum = terms[0].sum;
        for (std::size_t i = 1; i < terms.size(); ++i)
            sum += terms[i].sum;
        return ended<Out>(Plain<V>{sum}, finalize, x.size());
    }
    return with_item<V>(method, [&]<template <class> class Item>(Item<V>, Rows rows) {
        const auto items = terms_of<Item>(term, x, y);
        const Item<V> root = tree_of(std::span<const Item<V>>(items), lanes_of(sizeof(T)), lanes_of(sizeof(V)), rows);
        return ended<Out>(root, finalize, x.size());
    });
}

} // namespace detreduce::reference
