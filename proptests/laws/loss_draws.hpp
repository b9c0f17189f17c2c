// Elements, targets and weights for the laws of losses: where each loss bends, and where a careless
// formula cancels.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/losses.hpp>

#include <support/numbers.hpp>

namespace detreduce::proptests {

inline constexpr Loss all_losses[] = {
#define DETREDUCE_LOSS(name, ...) Loss::name,
    DETREDUCE_LOSSES(DETREDUCE_LOSS)
#undef DETREDUCE_LOSS
};

/// Number i of a stream of numbers in [0, 1).
inline double unit(std::uint64_t seed, std::uint64_t i) {
    return static_cast<double>(accuracy::hash(seed, i) >> 11) * 0x1p-53;
}
/// ±u·2^e, u in [1, 2), lowest ≤ e ≤ highest.
inline double scattered(std::uint64_t seed, std::uint64_t i, int lowest, int highest) {
    const std::uint64_t word = accuracy::hash(seed ^ 0x5ca77e7ed, i);
    const int e = lowest + static_cast<int>(word % static_cast<std::uint64_t>(highest - lowest + 1));
    const double size = std::ldexp(1 + unit(seed, i), e);
    return word >> 60 & 1 ? -size : size;
}
/// In [0, 1]: 0, 1, near them, or anywhere.
inline double probability(std::uint64_t seed, std::uint64_t i, int deepest) {
    switch (accuracy::hash(seed ^ 0x9b0b, i) % 6) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return std::fabs(scattered(seed, i, deepest, -1));
    case 3:
        return 1 - std::fabs(scattered(seed, i, -12, -2));
    default:
        return unit(seed, i);
    }
}

template <class T>
struct LossData {
    std::vector<T> x, target, weight;
};

inline double drawn(LossDomain domain, std::uint64_t seed, std::uint64_t i, int deepest) {
    switch (domain) {
    case LossDomain::number:
        return scattered(seed, i, -6, 6);
    case LossDomain::probability:
        return probability(seed, i, deepest);
    case LossDomain::logit:
        return scattered(seed, i, deepest / 2, 9);
    case LossDomain::log_probability:
        break;
    }
    return scattered(seed, i, deepest / 2, 5);
}

/// n elements that `loss` is for.
template <class T>
LossData<T> loss_data(Loss loss, std::size_t n, std::uint64_t seed) {
    const int deepest = fp::is_narrow<T> ? -12 : -60;
    LossData<T> data;
    const auto push = [](std::vector<T>& to, double x) { to.push_back(fp::round_to<T>(x)); };
    for (std::size_t i = 0; i < n; ++i) {
        push(data.weight, i % 11 == 3 ? 0 : scattered(seed + 2, i, -3, 3));
        const double x = drawn(info(loss).x, seed, i, deepest);
        push(data.x, x);
        const bool of_numbers = info(loss).target == LossDomain::number;
        push(data.target, of_numbers && i % 7 == 0   ? x
                          : of_numbers && i % 3 == 0 ? x + scattered(seed + 1, i, -16, 0)
                                                     : drawn(info(loss).target, seed + 1, i, deepest));
    }
    return data;
}

/// What delta and beta may be; of other losses it means nothing.
inline double loss_parameter(std::uint64_t word) {
    constexpr double list[] = {1, 0.375, 3, 0x1p-20, 1e5, 0.1};
    return list[word % std::size(list)];
}

} // namespace detreduce::proptests
