// The elements of a case: nothing is stored, all of it follows from what the table's line says.
#pragma once

#include <memory>
#include <vector>

#include <detreduce/plan.hpp>

#include "golden/cases.hpp"

namespace detreduce::golden {

/// In host memory. A copy shares the elements.
struct Input {
    std::uint64_t elements = 0; ///< of x, and of y: to the end of the last row of a matrix
    /// generate(family, elements, seed), for products as balanced() has it; of tensors what keeps
    /// the elements of all.
    std::shared_ptr<const void> x = {};
    std::shared_ptr<const void> y = {};      ///< those of seed + 1000000
    std::vector<std::uint64_t> offsets = {}; ///< segments
    std::vector<Tensor> tensors = {};        ///< of x
    std::vector<Tensor> second_tensors = {}; ///< of y
};

[[nodiscard]] Input input_of(const Case& c);

/// What run() takes on the CPU; `in` must stay.
[[nodiscard]] Inputs inputs_of(const Case& c, const Input& in);

/// Where segments, and tensors of a list, begin and end: groups + 1 offsets, with a few elements
/// before the first and after the last. A quarter of the groups is empty, one, number seed %
/// groups, takes what the others leave, and a quarter has lengths beside the boundaries of the
/// order.
[[nodiscard]] std::vector<std::uint64_t> offsets_of(const Case& c);

} // namespace detreduce::golden
