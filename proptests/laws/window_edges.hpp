// Numbers at both edges of a window of `exact`: there is nothing to spare, so that bins are as full
// as they may be, and the last bit of the smallest numbers is the last that a window holds. The
// windows are not known here: of all ranges one is theirs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <support/bits.hpp>

namespace detreduce::proptests {

/// Ranges of exponents from 0 to this one.
template <class T>
inline constexpr int widest_range = std::min(fp::is_f64<T> ? 140 : 100, 2 * largest_exponent<T>);

/// So that neither sums nor squares of numbers from 2^lowest on, of a range, are beyond the format.
template <class T>
int middle_of(int range) {
    return std::max(-largest_exponent<T>, std::min(largest_exponent<T>, range / 2 + (fp::is_f64<T> ? 40 : 1)) - range);
}

/// n numbers at 2^(lowest + range) with the largest significand, those from number `negative_from`
/// on negative; and, from number 1 on, a few odd ones at 2^lowest. Behind the first quarter these
/// are the largest that are below that.
template <class T>
std::vector<T> at_both_edges(std::size_t n, int lowest, int range, std::size_t negative_from) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t word = accuracy::hash(static_cast<std::uint64_t>(range), i);
        const bool below = i > n / 4 && lowest > -largest_exponent<T>;
        x[i] = i % 61 != 1 ? from_fields<T>({i >= negative_from, lowest + range, ~std::uint64_t{0}})
               : below     ? from_fields<T>({word % 2 == 0, lowest - 1, ~std::uint64_t{0}})
                           : from_fields<T>({word % 2 == 0, lowest, word | 1});
    }
    return x;
}

} // namespace detreduce::proptests
