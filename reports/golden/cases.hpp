// The inputs whose results are golden: the same bits on every machine, as long as spec_version stays.
#pragma once

#include <cstdint>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/types.hpp>

namespace detreduce::golden {

/// The sum of generate<dtype>(family, n, seed).
struct Case {
    Method method;
    DType dtype;
    DType output;
    accuracy::Family family;
    std::uint64_t n;
    std::uint64_t seed;
    friend bool operator==(const Case&, const Case&) = default;
};

/// The same elements, whatever is done with them?
[[nodiscard]] inline bool same_input(const Case& a, const Case& b) {
    return a.dtype == b.dtype && a.family == b.family && a.n == b.n && a.seed == b.seed;
}

/// Every case that the table must have, in its order: those with the same input stand together.
[[nodiscard]] std::vector<Case> all_cases();

} // namespace detreduce::golden
