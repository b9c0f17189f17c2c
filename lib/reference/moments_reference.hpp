// lib/SPEC.md, section 12, evaluated naively: mean and variance by every method but `exact`, whose
// results the oracle in accuracy/ gives.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include <detreduce/types.hpp>

#include "op_reference.hpp"

namespace detreduce::reference {

/// Item of `tree`: a group of elements.
template <class V>
struct Group {
    V mean;
    V m2 = 0;
    std::size_t n = 1;
};
template <class V>
Group<V> merged(Group<V> a, Group<V> b) {
    const std::size_t n = a.n + b.n;
    const V share = static_cast<V>(b.n) / static_cast<V>(n), cross = static_cast<V>(a.n) * share;
    const V d = b.mean - a.mean;
    return {std::fma(d, share, a.mean), std::fma(d * d, cross, a.m2 + b.m2), n};
}

/// Mean and variance or deviation, of a group of all elements.
template <class Out, class V>
Out mean_of(const Group<V>& all) {
    return converted<Out>(all.mean);
}
template <class Out, class V>
Out variance_of(const Group<V>& all, std::size_t ddof, bool root) {
    if (!is_number(all.mean)) return canonical_nan<Out>();
    const double m2 = all.m2, divisor = static_cast<double>(all.n - ddof);
    if (!root) return ended<Out>(m2, 0.0, Finalize::mean, divisor);
    const double q = m2 / divisor;
    return ended<Out>(q, std::fma(-q, divisor, m2) / divisor, Finalize::root, 1);
}

/// All elements as one group. n ≥ 1.
template <class T>
Group<Sum<T>> group_of(std::span<const T> x, Method method) {
    if (method == Method::tree) return tree_of_elements<Group>(x, Rows::in_pairs);
    const auto items = items_of<Group>(x);
    auto all = items[0];
    for (std::size_t i = 1; i < items.size(); ++i)
        all = merged(all, items[i]);
    return all;
}

/// The results in the order in which they are written.
template <class Out, class V>
std::vector<Out> moments_of(Op op, const Group<V>& all, std::size_t ddof) {
    std::vector<Out> results;
    if (op == Op::moments) results.push_back(mean_of<Out>(all));
    results.push_back(variance_of<Out>(all, ddof, op == Op::stddev));
    return results;
}

} // namespace detreduce::reference
