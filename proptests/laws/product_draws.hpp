// Products as the backend gives them, by draws, and factors whose product neither over- nor
// underflows.
#pragma once

#include <cmath>

#include "laws/group_cuts.hpp"

namespace detreduce::proptests {

inline std::vector<Method> product_methods() {
    std::vector<Method> methods{Method::tree, Method::compensated};
    if (TestBackend::kind == Backend::cpu) methods.push_back(Method::serial);
    return methods;
}

/// Of launches a product has the grid and the schedule two_pass.
inline Draw product_draw(std::uint64_t word) {
    Draw draw = draw_from(Method::tree, word);
    draw.launch.schedule = word % 2 != 0 ? Schedule::two_pass : Schedule::automatic;
    draw.launch.block = 0;
    return draw;
}

template <class Out, class T>
Out multiplied(std::span<const T> x, Method method, const Draw& draw = {}) {
    return TestBackend::reduce<Out>(Op::prod, x, std::span<const T>(), method, draw);
}

/// n elements of all sizes whose product stays near one, so that every bit of it can be wrong.
template <class T>
std::vector<T> balanced(std::size_t n, std::uint64_t seed) {
    constexpr int most = largest_exponent<T> - 1;
    std::vector<T> x(n);
    double so_far = 0; // log2 of the product
    for (std::size_t i = 0; i < n; ++i) {
        const auto size = static_cast<int>(accuracy::hash(seed, i / 2) % static_cast<std::uint64_t>(most));
        const int exponent = i + 1 == n && i % 2 == 0 ? 0 : i % 2 == 0 ? size : -size; // of two, one up and one down
        const int lower = so_far > 0 ? 1 : 0;
        const std::uint64_t word = accuracy::hash(seed, n + i);
        const T significand = from_fields<T>({false, 0, word});
        so_far += std::log2(static_cast<double>(fp::widen(significand))) - lower;
        x[i] = from_fields<T>({accuracy::hash(word, 1) % 2 != 0, exponent - lower, word});
    }
    return x;
}

/// Products of the groups of `cut`, by one of the methods.
template <class Out, class T>
std::vector<Out> products_of(Cut<T>& cut, Method method, std::uint64_t word) {
    cut.request.op = Op::prod;
    cut.request.method = method;
    return TestBackend::reduce_groups<Out>(cut.request, cut.pair.first(), {}, cut.offsets,
                                           group_draw(Method::tree, word));
}

} // namespace detreduce::proptests
