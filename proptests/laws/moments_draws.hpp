// Mean and variance as the backend gives them, by draws.
#pragma once

#include <algorithm>

#include "laws/group_cuts.hpp"

namespace detreduce::proptests {

constexpr Op moment_ops[] = {Op::variance, Op::stddev, Op::moments};

inline Op some_moment_op(std::uint64_t word) {
    return moment_ops[accuracy::hash(word, 61) % std::size(moment_ops)];
}
/// The methods that there are, on this backend.
inline std::vector<Method> moment_methods() {
    std::vector<Method> list{Method::exact, Method::tree};
    if (TestBackend::kind == Backend::cpu) list.push_back(Method::serial);
    return list;
}
inline Method some_moment_method(std::uint64_t word) {
    const auto list = moment_methods();
    return list[accuracy::hash(word, 62) % list.size()];
}
/// Of those that round on the way.
inline Method some_rounding_moment_method(std::uint64_t word) {
    auto list = moment_methods();
    list.erase(std::find(list.begin(), list.end(), Method::exact));
    return list[accuracy::hash(word, 62) % list.size()];
}
/// 0, 1, or any that there is for n ≥ 1 elements.
inline std::uint64_t some_ddof(std::size_t n, std::uint64_t word) {
    const std::uint64_t kinds[] = {0, 1, n - 1, accuracy::hash(word, 63)};
    return kinds[accuracy::hash(word, 64) % std::size(kinds)] % n;
}
/// These have one schedule and one block.
inline Draw moments_draw(Method method, std::uint64_t word) {
    Draw draw = draw_from(method, word);
    draw.launch.schedule = Schedule::automatic;
    draw.launch.block = 0;
    return draw;
}

template <class Out, class T>
std::vector<Out> moments_of(Op op, std::span<const T> x, Method method, std::uint64_t ddof, std::uint64_t word) {
    const Request request{.op = op, .method = method, .n = x.size(), .ddof = ddof};
    return TestBackend::results<Out>(request, x, moments_draw(method, word));
}
template <class Out, class T>
std::vector<Out> moments_of(Op op, const std::vector<T>& x, Method method, std::uint64_t ddof, std::uint64_t word) {
    return moments_of<Out>(op, std::span<const T>(x), method, ddof, word);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](T x, T y) { return same_bits(x, y); });
}

/// Mean, variance or both of the groups of `cut`, those of one side by side.
template <class Out, class T>
std::vector<Out> moments_of_groups(Cut<T>& cut, Op op, Method method, std::uint64_t ddof, std::uint64_t word) {
    cut.request.op = op;
    cut.request.method = method;
    cut.request.ddof = ddof;
    return TestBackend::reduce_groups<Out>(cut.request, cut.pair.first(), {}, cut.offsets, moments_draw(method, word));
}

} // namespace detreduce::proptests
