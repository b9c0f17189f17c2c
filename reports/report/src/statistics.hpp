// Median and median absolute deviation: what remains of noisy times when outliers do not count. And
// the order of turns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <detreduce/accuracy/generators.hpp>

namespace detreduce::report {

/// The middle value, or the mean of the two middle ones; `values` is not empty.
[[nodiscard]] inline double median(std::vector<double> values) {
    const std::size_t half = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
    const double upper = values[half];
    if (values.size() % 2 != 0) return upper;
    return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half)) + upper) / 2;
}

/// median(|x − median(x)|) / median(x)
[[nodiscard]] inline double relative_deviation(std::vector<double> values) {
    const double middle = median(values);
    for (double& v : values)
        v = std::fabs(v - middle);
    return median(std::move(values)) / middle;
}

/// The order in which `count` candidates take their turns in a round: another one each round, so
/// that a slower minute of the machine hits all alike and nobody always follows the same neighbour
/// (whose threads or cache contents it would inherit).
[[nodiscard]] inline std::vector<std::size_t> order_of_turns(std::size_t count, int round) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    accuracy::shuffle(std::span<std::size_t>(order), static_cast<std::uint64_t>(round));
    return order;
}

} // namespace detreduce::report
