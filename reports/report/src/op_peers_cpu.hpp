// What C++'s standard library has for an op, of all elements in one thread, in whatever order it
// takes. f32 and f64: C++20 has no arithmetic for the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <detreduce/types.hpp>

#include "cpu_timing.hpp"

namespace detreduce::report {

/// `result(x)` for the whole of x.
template <class T, class Result>
[[nodiscard]] Candidate<T> peer_candidate(std::string name, Op op, Result result) {
    return {std::move(name), threads_text(1), 1, [=](std::span<const T> x) { keep(result(x)); },
            std::string(detreduce::name(op))};
}

/// `result(x, y)`: one half of the elements is x and the other y.
template <class T, class Result>
[[nodiscard]] Candidate<T> peer_of_pairs(std::string name, Op op, Result result) {
    return peer_candidate<T>(std::move(name), op, [=](std::span<const T> x) {
        return result(x.first(x.size() / 2), x.subspan(x.size() / 2));
    });
}

/// `result(row)` for each row of `length` elements.
template <class T, class Result>
[[nodiscard]] Candidate<T> peer_of_rows(std::string name, Op op, std::size_t length, Result result) {
    const auto run = [=](std::span<const T> x) {
        for (std::size_t at = 0; at + length <= x.size(); at += length)
            keep(result(x.subspan(at, length)));
    };
    return {std::move(name),
            threads_text(1),
            1,
            run,
            std::string(detreduce::name(op)),
            "rows of " + std::to_string(length)};
}

template <class T>
struct OpPeers {
    using X = std::span<const T>;
    static constexpr const char *reduce = "std::reduce", *transform_reduce = "std::transform_reduce";

    static T sum(X x) { return std::reduce(x.begin(), x.end(), T(0)); }
    static T magnitude(T v) { return std::fabs(v); }
    static T greater(T a, T b) { return a < b ? b : a; }

    template <class Merge, class Transform>
    static T transformed(X x, Merge merge, Transform term) {
        return std::transform_reduce(x.begin(), x.end(), T(0), merge, term);
    }
    template <class Transform>
    static T of_pairs(X x, X y, Transform term) {
        return std::transform_reduce(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(y.size()), y.begin(), T(0),
                                     std::plus<>(), term);
    }
    static T deviations(X x) {
        const T mean = sum(x) / static_cast<T>(x.size());
        return transformed(x, std::plus<>(), [mean](T v) { return (v - mean) * (v - mean); });
    }

    static void add_sums(std::vector<Candidate<T>>& list, Op op) {
        if (op == Op::sum)
            list.push_back(peer_candidate<T>("std::accumulate", op,
                                             [](X x) { return std::accumulate(x.begin(), x.end(), T(0)); }));
        if (op == Op::sum || op == Op::mean) list.push_back(peer_candidate<T>(reduce, op, sum));
        if (op == Op::asum)
            list.push_back(
                peer_candidate<T>(transform_reduce, op, [](X x) { return transformed(x, std::plus<>(), magnitude); }));
        if (op == Op::sumsq || op == Op::nrm2)
            list.push_back(peer_candidate<T>(
                transform_reduce, op, [](X x) { return transformed(x, std::plus<>(), [](T v) { return v * v; }); }));
    }
    static void add_pairs(std::vector<Candidate<T>>& list, Op op) {
        if (op == Op::dot)
            list.push_back(peer_of_pairs<T>("std::inner_product", op, [](X x, X y) {
                return std::inner_product(x.begin(), x.end(), y.begin(), T(0));
            }));
        if (op == Op::dot)
            list.push_back(
                peer_of_pairs<T>(transform_reduce, op, [](X x, X y) { return of_pairs(x, y, std::multiplies<>()); }));
        if (op == Op::sumdiffsq || op == Op::mse)
            list.push_back(peer_of_pairs<T>(transform_reduce, op, [](X x, X y) {
                return of_pairs(x, y, [](T a, T b) { return (a - b) * (a - b); });
            }));
        if (op == Op::mae)
            list.push_back(peer_of_pairs<T>(transform_reduce, op, [](X x, X y) {
                return of_pairs(x, y, [](T a, T b) { return std::fabs(a - b); });
            }));
    }
    static void add_orders(std::vector<Candidate<T>>& list, Op op) {
        if (op == Op::min || op == Op::argmin)
            list.push_back(peer_candidate<T>("std::min_element", op,
                                             [](X x) { return std::min_element(x.begin(), x.end()) - x.begin(); }));
        if (op == Op::max || op == Op::argmax)
            list.push_back(peer_candidate<T>("std::max_element", op,
                                             [](X x) { return std::max_element(x.begin(), x.end()) - x.begin(); }));
        if (op == Op::minmax)
            list.push_back(peer_candidate<T>("std::minmax_element", op, [](X x) {
                const auto [minimum, maximum] = std::minmax_element(x.begin(), x.end());
                return (minimum - x.begin()) ^ (maximum - x.begin()); // one value that needs both
            }));
        if (op == Op::nrminf)
            list.push_back(
                peer_candidate<T>(transform_reduce, op, [](X x) { return transformed(x, greater, magnitude); }));
    }
    static void add_others(std::vector<Candidate<T>>& list, Op op) {
        if (op == Op::prod)
            list.push_back(peer_candidate<T>(
                reduce, op, [](X x) { return std::reduce(x.begin(), x.end(), T(1), std::multiplies<>()); }));
        if (op == Op::variance || op == Op::stddev || op == Op::moments) // the mean first: two passes
            list.push_back(peer_candidate<T>(transform_reduce, op, deviations));
        if (op == Op::count_nonzero)
            list.push_back(peer_candidate<T>("std::count_if", op, [](X x) {
                return std::count_if(x.begin(), x.end(), [](T v) { return v != 0; });
            }));
    }
    static void add(std::vector<Candidate<T>>& list, Op op) {
        add_sums(list, op);
        add_pairs(list, op);
        add_orders(list, op);
        add_others(list, op);
    }
    static void add_rows(std::vector<Candidate<T>>& list, Op op, std::size_t length) {
        if (op == Op::sum) list.push_back(peer_of_rows<T>(reduce, op, length, sum));
        if (op == Op::argmax)
            list.push_back(peer_of_rows<T>("std::max_element", op, length,
                                           [](X x) { return std::max_element(x.begin(), x.end()) - x.begin(); }));
        if (op == Op::variance) list.push_back(peer_of_rows<T>(transform_reduce, op, length, deviations));
    }
};

} // namespace detreduce::report
