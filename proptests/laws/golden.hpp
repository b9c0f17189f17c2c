// Golden bits: the list of inputs, and the table of results in proptests/golden/sum.tsv.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/types.hpp>

namespace detreduce::proptests {

struct GoldenCase {
    Method method;
    DType dtype;
    accuracy::Family family;
    std::uint64_t n;
    std::uint64_t seed;
    friend bool operator==(const GoldenCase&, const GoldenCase&) = default;
};

/// Every case that the table must have, in its order.
[[nodiscard]] std::vector<GoldenCase> golden_cases();

[[nodiscard]] std::string golden_line(const GoldenCase& c, const std::string& bits);

/// Where the table is: DETREDUCE_GOLDEN_IN, for tests that were built elsewhere, or its place in the sources.
[[nodiscard]] std::string golden_path();

/// Lines of a table without its comments. Throws std::runtime_error when the file cannot be read.
[[nodiscard]] std::vector<std::string> read_golden(const std::string& path);

/// Calls f(case, input) with the input as std::vector of its element type.
template <class F>
void with_input(const GoldenCase& c, F&& f) {
    if (c.dtype == DType::f32) {
        f(c, accuracy::generate<float>(c.family, c.n, c.seed));
    } else {
        f(c, accuracy::generate<double>(c.family, c.n, c.seed));
    }
}

template <class T>
[[nodiscard]] std::string hex_bits(T value);

} // namespace detreduce::proptests
