// Layout of a plan's workspace: the results of each level, then the counters of last_block, which are zeroed together.
#pragma once

#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/tree_order.hpp>

namespace detreduce::cuda {

struct Workspace {
    std::uint64_t tiles[max_levels];  ///< results in each level; 1 = the root, which needs no room
    std::size_t partials[max_levels]; ///< byte offsets
    std::size_t counters[max_levels];
    std::size_t bytes;
};

[[nodiscard]] constexpr Workspace workspace_layout(DType dtype, std::size_t accumulator_bytes, std::uint64_t n) {
    const std::uint32_t tile = dtype == DType::f32 ? spec::TreeOrder<4>::tile : spec::TreeOrder<8>::tile;
    constexpr auto align = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    Workspace w{};
    std::uint64_t items = n;
    for (int l = 0; l < max_levels; ++l) {
        w.tiles[l] = items = spec::tiles(items, tile);
        w.partials[l] = w.bytes;
        if (items > 1) w.bytes += align(items * accumulator_bytes);
    }
    for (int l = 0; l < max_levels; ++l) {
        w.counters[l] = w.bytes;
        if (w.tiles[l] > 1) w.bytes += align(spec::tiles(w.tiles[l], tile) * sizeof(std::uint32_t));
    }
    return w;
}

} // namespace detreduce::cuda
