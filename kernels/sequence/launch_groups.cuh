// Host side of groups that are reduced in a fixed order: sums, products, means and variances,
// whatever Level reads and merges.
#pragma once

#include "for_each.cuh"
#include "sequence/columns.cuh"
#include "sequence/groups.cuh"
#include "policies.hpp"

namespace detreduce::cuda {

/// Does the array, or every row of it, begin at 16 bytes?
template <class T, class Acc>
[[nodiscard]] bool all_aligned(const FlatLaunch<T, Acc>& flat) {
    const Shape shape = flat.plan.request().shape;
    return flat.aligned() &&
           (shape == Shape::flat ||
            (shape == Shape::rows && (flat.levels.rows == 1 || flat.levels.stride * sizeof(T) % 16 == 0)));
}

template <class T, class LevelOf>
struct GroupLaunch {
    using Level = LevelOf;
    using Acc = typename Level::Result;

    FlatLaunch<T, Acc> flat;
    typename Level::Pointer input;
    Groups groups = Groups::of(flat.plan, flat.in.offsets);

    [[nodiscard]] Status run_small(const WorkTable& table) const {
        const std::uint64_t batches = reads_words<Level> ? policy::group_batches_by_words : policy::group_batches,
                            blocks = batches * flat.device().sms;
        const std::uint32_t batch = batch_of(flat.plan, blocks, block_warps);
        return flat.launch_resident(groups_kernel<Level>, spec::tiles(groups.count, std::uint64_t{block_warps} * batch),
                                    0, input, groups, batch, flat.levels.results, table);
    }

    /// A flat array, or rows: a warp each, or several blocks.
    [[nodiscard]] Status run_whole() const {
        const bool small = flat.plan.request().shape == Shape::rows && flat.n() <= Level::Order::tile;
        return small ? run_small({}) : flat.template two_pass<Level>(input);
    }

    [[nodiscard]] Status run_segments() const {
        constexpr std::uint32_t length = Level::Order::tile;
        const WorkLayout layout = WorkLayout::of(flat.n(), length, sizeof(Acc));
        const WorkTable table = layout.table(flat.workspace, length, PartialLevel<Acc>::Order::tile);
        Status status = clear(table.used, 2 * sizeof *table.used, flat.stream);
        if (status.ok()) status = run_small(table);
        if (!status.ok() || layout.room == 0) return status;
        Levels<Acc> work_items = flat.levels; // a result each, none of which is a root
        work_items.tiles[0] = layout.room;
        work_items.partials[0] = reinterpret_cast<Acc*>(static_cast<char*>(flat.workspace) + layout.results);
        status = flat.template run_level<Level, block_warps>(
            LaunchKind::plain, input, flat.n(), work_items,
            flat.grid(std::min<std::uint64_t>(layout.room, policy::work_item_blocks * flat.device().sms)), table);
        return status.ok() ? reduce_large_groups(flat, table, work_items.partials[0]) : status;
    }

    [[nodiscard]] Status run() const {
        if (detail::is_across(flat.plan.request().shape)) return run_columns<Level>(flat, input);
        return groups.offsets != nullptr ? run_segments() : run_whole();
    }
};

} // namespace detreduce::cuda
