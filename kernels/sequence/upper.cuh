// The levels above the first, whose items are partial results: the same for all that is added in a
// format.
#pragma once

#include "sequence/launch.cuh"

namespace detreduce::cuda {

template <class Acc, int TeamWarps>
Status reduce_upper_levels(const SequenceLaunch<Acc>& run) {
    using Partial = PartialLevel<Acc>;
    const auto& levels = run.levels;
    std::uint64_t unit = tile_items(size_of(run.plan.request().dtype));
    Status status;
    for (int l = 0; status.ok() && l + 1 < max_levels && levels.tiles[l] > 1; ++l) {
        const bool short_rows = levels.tiles[l] <= policy::most_short_rows * Partial::Order::lanes; // a warp each
        const dim3 blocks = short_rows ? dim3(run.grid(spec::tiles(levels.rows, run.block() / warp_size)))
                                       : run.grid_of_rows(levels.tiles[l + 1]);
        const LaunchKind kind = after_previous(run.device(), level_kernel<Partial, TeamWarps, Levels<Acc>>);
        auto to = levels.from(l + 1);
        to.unit = unit;
        status = run.template run_level<Partial, TeamWarps>(kind, levels.partials[l], levels.tiles[l], to, blocks);
        unit *= Partial::Order::tile;
    }
    return status;
}

/// A block a group.
template <class Partial, int TeamWarps>
__global__ void __launch_bounds__(max_block)
    large_groups_kernel(const WorkTable table, typename Partial::Acc* items, const Results results) {
    using Acc = typename Partial::Acc;
    constexpr std::uint32_t tile_items = Partial::Order::tile;
    auto& buffer = *team_buffer<BufferOf<Partial, TeamWarps>>();
    for (std::uint64_t i = blockIdx.x; i < table.used[1]; i += gridDim.x) {
        const LargeGroup group = table.large[i];
        Acc* level = items + group.first;
        std::uint64_t unit = table.length;
        for (std::uint64_t m = spec::tiles(group.n, unit); m > 1; unit *= tile_items) {
            const std::uint64_t tiles = spec::tiles(m, tile_items);
            Acc* const above = level + (m + 3) / 4 * 4;
            for (std::uint64_t t = 0; t < tiles; ++t) {
                const auto acc = reduce_items<Partial, TeamWarps>(level + t * tile_items,
                                                                  items_in_tile(t * tile_items, m, tile_items),
                                                                  t + 1 == tiles, m, unit, group.n, buffer);
                if (threadIdx.x == 0 && tiles == 1) results.finish(group.group, acc, group.n);
                if (threadIdx.x == 0 && tiles > 1) above[t] = acc;
                __syncthreads(); // the buffer is used again, and the level above is read
            }
            level = above;
            m = tiles;
        }
    }
}

template <class Acc>
Status reduce_large_groups(const SequenceLaunch<Acc>& run, const WorkTable& table, Acc* results) {
    const auto kernel = large_groups_kernel<PartialLevel<Acc>, block_warps>;
    constexpr std::size_t shared = sizeof(BufferOf<PartialLevel<Acc>, block_warps>);
    return run.launch_resident(kernel, table.room / 4, shared, table, results, run.levels.results);
}

} // namespace detreduce::cuda
