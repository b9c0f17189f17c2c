// Layout of a plan's workspace: the results of each level, then the counters of last_block, which
// are zeroed together.
#pragma once

#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/tree_order.hpp>

namespace detreduce::cuda {

struct Workspace {
    std::uint64_t tiles[max_levels];  ///< results of a row in each level; 1 = the root, which needs no room
    std::uint64_t pitch[max_levels];  ///< results from one row to the next: every row begins at 16 bytes
    std::size_t partials[max_levels]; ///< byte offsets
    std::size_t counters[max_levels];
    std::size_t bytes;
};

/// Items in a tile of items of `bytes` bytes.
[[nodiscard]] constexpr std::uint32_t tile_items(std::size_t bytes) {
    return bytes == 2 ? spec::TreeOrder<2>::tile : bytes == 4 ? spec::TreeOrder<4>::tile : spec::TreeOrder<8>::tile;
}

/// For rows of n elements of `dtype` and accumulators of `accumulator_bytes` bytes.
[[nodiscard]] constexpr Workspace workspace_layout(DType dtype, std::size_t accumulator_bytes, std::uint64_t n,
                                                   std::uint64_t rows) {
    const std::uint32_t upper_tile = tile_items(size_of(arithmetic_of(dtype)));
    constexpr auto align = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    Workspace w{};
    std::uint64_t items = n;
    for (int l = 0; l < max_levels; ++l) {
        w.tiles[l] = items = spec::tiles(items, l == 0 ? tile_items(size_of(dtype)) : upper_tile);
        w.partials[l] = w.bytes;
        w.pitch[l] = (items + 3) / 4 * 4;
        if (items > 1) w.bytes += align(rows * w.pitch[l] * accumulator_bytes);
    }
    for (int l = 0; l < max_levels; ++l) {
        w.counters[l] = w.bytes;
        if (w.tiles[l] > 1 && rows == 1) w.bytes += align(spec::tiles(w.tiles[l], upper_tile) * sizeof(std::uint32_t));
    }
    return w;
}

} // namespace detreduce::cuda
