// Groups of elements that are reduced each on its own: rows or columns of a matrix, or segments.
// Those that are small are reduced by a warp, or a part of one. Large ones, of which there may be
// one among thousands of small ones, are first cut into work items, which all blocks share; then a
// block each puts the results of its work items together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "policies.hpp"

namespace detreduce::cuda {

/// Where groups are in an array.
struct Groups {
    std::uint64_t count, n;       ///< n elements each; segments: n elements in all
    std::uint64_t stride, step;   ///< from one group, one element of it, to the next
    const std::uint64_t* offsets; ///< of segments; else null

    [[nodiscard]] static Groups of(const Plan& plan, const std::uint64_t* offsets) {
        const detail::Strides strides = detail::strides_of(plan.request());
        return {plan.groups(), plan.request().n, strides.group, strides.element, offsets};
    }
};

/// Small groups that a warp takes at a time, one for each of its threads at most: as many as leave
/// something to do to all warps of the plan's grid, or, if it names none, of `blocks` blocks.
[[nodiscard]] inline std::uint32_t batch_of(const Plan& plan, std::uint64_t blocks, std::uint32_t block_warps) {
    const std::uint64_t warps = (plan.launch().grid ? plan.launch().grid : blocks) * block_warps;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(spec::tiles(plan.groups(), warps), 1, 32));
}

/// Elements that make a work item of a large group. Of many rows that are hardly longer none is
/// large.
[[nodiscard]] inline std::uint32_t item_elements(const Request& r) {
    constexpr std::uint32_t enough = policy::work_item_elements;
    return r.shape == Shape::rows && r.groups >= policy::many_rows && r.n <= 2 * enough ? 2 * enough : enough;
}

/// A part of a large group.
struct WorkItem {
    std::uint64_t begin; ///< its first element
    std::uint32_t m;     ///< elements; 0: nothing to do
    std::uint32_t spare;
};
struct LargeGroup {
    std::uint64_t group, n, first; ///< `first`: work item
};

/// Work items of `length` elements. What is put where depends on who comes first; what comes out
/// does not.
struct WorkTable {
    WorkItem* items;
    LargeGroup* large;
    std::uint64_t* used; ///< how many work items and how many large groups there are
    std::uint64_t room;  ///< for so many work items, and a fourth of that of large groups
    std::uint32_t length;
    std::uint64_t step;  ///< from one element to the next
    std::uint32_t upper; ///< so many results of work items make up one of the next level; 0: there are no levels

    /// How many work items there are.
    [[nodiscard]] DETREDUCE_HD std::uint64_t in_use() const { return *used < room ? *used : room; }
};

/// Work items that a group of n elements takes, with room for the results of the levels above.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t items_of(std::uint64_t n, std::uint32_t length,
                                                            std::uint32_t upper) {
    std::uint64_t results = spec::tiles(n, length), all = 0;
    for (;; results = spec::tiles(results, upper)) {
        all += (results + 3) / 4 * 4; // every level begins at 16 bytes
        if (upper == 0 || results <= upper) return all;
    }
}

/// Byte offsets in the workspace. A group with more than one work item has more than `length`
/// elements, so there are never more than 4 · n/length work items.
struct WorkLayout {
    std::uint64_t room;
    std::size_t used, items, large, results, bytes;

    /// For segments of n elements in all.
    [[nodiscard]] static constexpr WorkLayout of(std::uint64_t n, std::uint32_t length, std::size_t result_bytes) {
        return with_room(4 * (n / length), result_bytes);
    }
    /// For the groups of a request that has no levels above its work items.
    [[nodiscard]] static WorkLayout of(const Request& r, std::uint32_t length, std::size_t result_bytes) {
        if (r.shape == Shape::segments) return of(r.n, length, result_bytes);
        return with_room(r.n > length ? r.groups * items_of(r.n, length, 0) : 0, result_bytes);
    }
    [[nodiscard]] static constexpr WorkLayout with_room(std::uint64_t work_items, std::size_t result_bytes) {
        constexpr auto align = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
        WorkLayout l{};
        l.room = work_items;
        l.items = 256;
        l.large = l.items + align(l.room * sizeof(WorkItem));
        l.results = l.large + align(l.room / 4 * sizeof(LargeGroup));
        l.bytes = l.results + align(l.room * result_bytes);
        return l;
    }
    [[nodiscard]] WorkTable table(void* workspace, std::uint32_t length, std::uint32_t upper,
                                  std::uint64_t step = 1) const {
        auto* const base = static_cast<char*>(workspace);
        return {reinterpret_cast<WorkItem*>(base + items),
                reinterpret_cast<LargeGroup*>(base + large),
                reinterpret_cast<std::uint64_t*>(base + used),
                room,
                length,
                step,
                upper};
    }
};

/// Layout of a plan's workspace: the results of each level, then the counters of last_block, which
/// are zeroed together.
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

/// Workspace of what is reduced in a fixed order, of a flat array or of groups, with accumulators
/// of so many bytes.
[[nodiscard]] inline std::size_t level_workspace_bytes(const Request& r, std::size_t accumulator_bytes) {
    if (r.shape == Shape::segments) return WorkLayout::of(r.n, tile_items(size_of(r.dtype)), accumulator_bytes).bytes;
    return workspace_layout(r.dtype, accumulator_bytes, r.n, r.groups).bytes;
}

} // namespace detreduce::cuda
