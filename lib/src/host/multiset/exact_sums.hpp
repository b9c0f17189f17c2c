// What `exact` knows of a part of its input.
#pragma once

#include <detreduce/acc/exact.hpp>

namespace detreduce::host {

/// `States` states side by side. Σ of elements: 1; of terms, which may be products:
/// acc::exact::product_states; Σx and Σx²: one more.
template <int States>
struct ExactSums {
    static constexpr int count = States * acc::exact::words;
    acc::exact::Word words[count] = {};

    /// Adds sums of other elements. The result is normalized.
    void merge(const ExactSums& other) {
        for (int w = 0; w < count; ++w)
            words[w] += other.words[w];
        for (int s = 0; s < States; ++s)
            acc::exact::normalize(words + s * acc::exact::words);
    }
};
using ElementSums = ExactSums<1>;
using TermSums = ExactSums<acc::exact::product_states>;
using PowerSums = ExactSums<1 + acc::exact::product_states>;

} // namespace detreduce::host
