// Inputs of ops, and what the ops must make of them.
#pragma once

#include <cmath>

#include <detreduce/accuracy/term_oracle.hpp>

#include <op_reference.hpp>

#include "laws/suite.hpp"

namespace detreduce::proptests {

/// Two vectors of one length.
template <class T>
struct Pair {
    std::vector<T> x, y;
    [[nodiscard]] std::span<const T> first() const { return x; }
    /// Nothing for ops of one input.
    [[nodiscard]] std::span<const T> second(Op op) const {
        return info(op).inputs == 2 ? std::span<const T>(y) : std::span<const T>();
    }
};

/// y with the numbers of x, each multiplied by 2^k for some k around 0, or numbers of its own.
template <class T>
Pair<T> pair_of(std::span<const T> x, std::uint64_t word, const Scope& scope) {
    Pair<T> pair{{x.begin(), x.end()}, {}};
    pair.y = vector_from<T>(static_cast<Style>(accuracy::hash(word, 11) % styles), x.size(), accuracy::hash(word, 12),
                            scope);
    if (word % 4 == 0) pair.y = pair.x;
    if (word % 4 == 1) { // near x: differences that cancel
        for (std::size_t i = 0; i < x.size(); ++i)
            pair.y[i] = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::to_bits(x[i]) ^ (accuracy::hash(word, i) % 4)));
    }
    return pair;
}

inline Op some_op(std::uint64_t word) {
    static const auto all = sum_ops();
    return all[accuracy::hash(word, 21) % all.size()].op;
}

template <class Out, class T>
Out reduce_pair(Op op, const Pair<T>& pair, Method method, std::uint64_t word) {
    Draw draw = draw_from(method, word);
    if (op != Op::sum && op != Op::mean && method != Method::exact) { // these have one launch, but for the grid
        draw.launch.schedule = Schedule::automatic;
        draw.launch.block = 0;
    }
    return TestBackend::reduce<Out>(op, pair.first(), pair.second(op), method, draw);
}

/// What the op must give, by SPEC.md.
template <class Out, class T>
Out expected(Op op, const Pair<T>& pair, Method method) {
    if (method != Method::exact) return reference::reduce<Out>(op, pair.first(), pair.second(op), method);
    accuracy::TermOracle oracle(info(op).transform);
    oracle.add(pair.first(), pair.second(op));
    return oracle.round<Out>(info(op).finalize);
}

} // namespace detreduce::proptests
