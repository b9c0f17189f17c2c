// What a task has found, and how it is printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <detreduce/detreduce.hpp>

#include "axis.hpp"
#include "reduce_run.hpp"
#include "value.hpp"

namespace detreduce::program {

struct Result {
    /// Numbers that were reduced; of rows, columns and along an axis: in each result; below 0:
    /// nobody knows.
    std::int64_t n = 0;
    DType dtype = DType::f64;
    std::vector<std::byte> bytes =
        std::vector<std::byte>(16);    ///< elements side by side, or indices or counts of 8 bytes each
    std::vector<std::byte> state = {}; ///< serialized, where it is to be saved

    /// Element k.
    [[nodiscard]] Value value(std::uint64_t k) const {
        Value one{dtype};
        std::memcpy(one.bytes, bytes.data() + k * size_of(dtype), size_of(dtype));
        return one;
    }

    /// Index or count k.
    [[nodiscard]] std::uint64_t integer(std::uint64_t k) const {
        std::uint64_t one = 0;
        std::memcpy(&one, bytes.data() + k * sizeof one, sizeof one);
        return one;
    }
};

/// Sums and means of elements as they are: their state is an ExactState.
inline bool of_elements(const OpInfo& op) {
    return op.kind == Kind::sum && op.transform == Transform::element;
}

/// One line. `axis`: along which it was reduced, or null; `job`: by whose ranks, or null.
std::string as_json(const Task& task, const Request& request, const Axis* axis, const Result& result, const Job* job);
/// A line a group; numbers of one group with a space between them.
std::string as_text(const OpInfo& op, const Result& result, std::uint64_t groups);

} // namespace detreduce::program
