// The inputs whose results are golden: the same bits on every machine, as long as spec_version
// stays.
#pragma once

#include <cstdint>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/types.hpp>

namespace detreduce::golden {

/// One reduction of elements that input.hpp makes. What follows the seed is as in Request; a flat
/// sum leaves it as it is.
struct Case {
    Method method;
    DType dtype;  ///< of the elements; tensors: of the first
    DType output; ///< of the result, or where that is an integer the dtype
    accuracy::Family family;
    std::uint64_t n;
    std::uint64_t seed;
    Op op = Op::sum;
    Shape shape = Shape::flat;
    std::uint64_t groups = 1;
    std::uint64_t stride = 0;
    std::uint64_t ddof = 0;
    NanPolicy nan = NanPolicy::propagate;
    bool each = false;
    friend bool operator==(const Case&, const Case&) = default;
};

/// Those have a table of their own, results.tsv.
[[nodiscard]] constexpr bool is_flat_sum(const Case& c) {
    return c.op == Op::sum && c.shape == Shape::flat;
}

/// Values that the reduction gives.
[[nodiscard]] std::uint64_t results_of(const Case& c);

/// The same elements, whatever is done with them?
[[nodiscard]] bool same_input(const Case& a, const Case& b);

/// Methods whose bits are promised and that every backend has.
[[nodiscard]] std::vector<Method> golden_methods();

/// Every case that results.tsv must have, in its order: flat sums. Those with the same input stand
/// together.
[[nodiscard]] std::vector<Case> sum_cases();

/// Every case that ops.tsv must have: the other ops, and shapes.
[[nodiscard]] std::vector<Case> op_cases();

} // namespace detreduce::golden
