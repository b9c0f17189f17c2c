// The order of `tree` (lib/SPEC.md, section 3) as constants and arithmetic: the one place that
// knows it, for the CPU, the GPU, the plan and the error bounds alike.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>

namespace detreduce::spec {

inline constexpr std::uint32_t row_bytes = 512;     ///< one row is one coalesced load of a warp
inline constexpr std::uint32_t rows_per_chunk = 8;  ///< rows that a lane adds in order
inline constexpr std::uint32_t chunks_per_tile = 8; ///< chunks that are combined by a binary tree

/// Lanes of items of so many bytes. Those of one byte are taken as if they were converted to
/// binary16, which holds them exactly.
[[nodiscard]] DETREDUCE_HD constexpr std::uint32_t lanes_of(std::uint32_t item_bytes) {
    return row_bytes / (item_bytes < 2 ? 2 : item_bytes);
}

/// The order for items of `ItemBytes` bytes.
template <std::uint32_t ItemBytes>
struct TreeOrder {
    static constexpr std::uint32_t lanes = lanes_of(ItemBytes);
    static constexpr std::uint32_t chunk = rows_per_chunk * lanes;
    static constexpr std::uint32_t tile = chunks_per_tile * chunk;
};

/// Items of the next level up: how many tiles m items fill.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t tiles(std::uint64_t m, std::uint32_t tile) {
    return m / tile + (m % tile != 0);
}

/// ⌈log2 m⌉: depth of a binary tree over m ≥ 1 items.
[[nodiscard]] DETREDUCE_HD constexpr std::uint32_t ceil_log2(std::uint64_t m) {
    std::uint32_t d = 0;
    while ((std::uint64_t{1} << d) < m)
        ++d;
    return d;
}

/// The most additions that any of n elements goes through on its way to the root. Items of the
/// levels above the input are accumulators, which have `lanes_above` lanes. With `pairwise_rows`
/// the rows of a chunk form a tree as well.
[[nodiscard]] constexpr std::uint32_t tree_depth(std::uint64_t n, std::uint32_t lanes, std::uint32_t lanes_above,
                                                 bool pairwise_rows) {
    std::uint32_t depth = 0;
    for (std::uint64_t m = n; m > 1;) {
        const std::uint32_t tile = rows_per_chunk * chunks_per_tile * lanes;
        const std::uint64_t in_tile = m < tile ? m : tile;
        const std::uint64_t rows = tiles(in_tile, lanes);
        const std::uint64_t in_chunk = rows < rows_per_chunk ? rows : rows_per_chunk;
        depth += pairwise_rows ? ceil_log2(in_chunk) : static_cast<std::uint32_t>(in_chunk - 1);
        depth += ceil_log2(tiles(rows, rows_per_chunk)) + ceil_log2(in_tile < lanes ? in_tile : lanes);
        m = tiles(m, tile);
        lanes = lanes_above;
    }
    return depth;
}

} // namespace detreduce::spec
