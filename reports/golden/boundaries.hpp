// Where the order of the methods changes its course, for elements of one dtype.
#pragma once

#include <detreduce/spec/tree_order.hpp>
#include <detreduce/types.hpp>

namespace detreduce::golden {

struct Boundaries {
    std::uint64_t lanes, chunk, tile;
    std::uint64_t level; ///< beyond it there are two levels of tiles above the elements
};

[[nodiscard]] constexpr Boundaries boundaries_of(DType dtype) {
    const std::uint64_t accumulator_bytes = size_of(arithmetic_of(dtype));
    const std::uint64_t in_tile = spec::rows_per_chunk * spec::chunks_per_tile; // rows
    const std::uint64_t lanes = spec::lanes_of(static_cast<std::uint32_t>(size_of(dtype))),
                        above = spec::row_bytes / accumulator_bytes * in_tile;
    return {lanes, spec::rows_per_chunk * lanes, in_tile * lanes, in_tile * lanes * above};
}

} // namespace detreduce::golden
