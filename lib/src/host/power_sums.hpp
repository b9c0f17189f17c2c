// What moments by exact add up.
#pragma once

#include <detreduce/acc/exact.hpp>

namespace detreduce::host {

/// Σx, and Σx² as three states of products.
struct PowerSums {
    static constexpr int states = 1 + acc::exact::product_states, count = states * acc::exact::words;
    acc::exact::Word words[count] = {};

    [[nodiscard]] acc::exact::Word* sum() { return words; }
    [[nodiscard]] acc::exact::Word* squares() { return words + acc::exact::words; }
    void normalize() {
        for (int s = 0; s < states; ++s)
            acc::exact::normalize(words + s * acc::exact::words);
    }
    /// Adds sums of other elements. Both are normalized, and so is the result.
    void merge(const PowerSums& other) {
        for (int w = 0; w < count; ++w)
            words[w] += other.words[w];
        normalize();
    }
};
} // namespace detreduce::host
