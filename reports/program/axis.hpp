// One axis of an array: what is reduced, and in which order the results come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input.hpp"

namespace detreduce::program {

/// The array as it lies in memory: `outer` blocks of n rows of `inner` elements. What is reduced
/// are n elements that lie `inner` apart.
struct Axis {
    std::uint64_t outer = 1, n = 0, inner = 1;
    int index = 0;                        ///< counted from the first axis
    std::vector<std::uint64_t> remaining; ///< the dimensions of the result
    bool fortran = false;                 ///< results lie in memory with the first index the fastest

    [[nodiscard]] std::uint64_t results() const { return outer * inner; }
};

/// `axis` counts from 0, or, below zero, from the end. Throws Failure, naming the source, where
/// there is no such axis.
[[nodiscard]] Axis find_axis(const std::string& name, const Layout& layout, int axis);

/// Results of `bytes` bytes each, which lie as the array does, in C order of the remaining axes.
[[nodiscard]] std::vector<std::byte> in_c_order(const Axis& axis, std::vector<std::byte> results, std::size_t bytes);

/// `(3,)`, `(2, 3)`: as Python writes it.
[[nodiscard]] std::string shape_text(const std::vector<std::uint64_t>& shape);

} // namespace detreduce::program
