// Host side of groups that are reduced in a fixed order: sums, products, means and variances, whatever Level reads and merges.
#pragma once

#include "columns/columns.cuh"
#include "groups/sums.cuh"

namespace detreduce::cuda {

/// Does every row begin at 16 bytes?
template <class T, class Acc>
[[nodiscard]] bool rows_are_aligned(const FlatLaunch<T, Acc>& flat, const Groups& groups) {
    return flat.plan.request().shape == Shape::rows && flat.aligned() && groups.stride * sizeof(T) % 16 == 0;
}

template <class T, class LevelOf>
struct GroupLaunch {
    using Level = LevelOf;
    using Acc = typename Level::Acc;
    using Partial = PartialLevel<Acc>;
    static constexpr int team = max_block / warp_size;

    FlatLaunch<T, Acc> flat;
    typename Level::Pointer input;
    Groups groups;
    void* workspace;

    template <class Kernel, class... Arguments>
    [[nodiscard]] Status launch(Kernel kernel, std::uint64_t useful, std::size_t shared,
                                const Arguments&... arguments) const {
        std::uint32_t resident = 0;
        if (const Status bad = flat.count_resident(kernel, shared, resident); !bad.ok()) return bad;
        const auto blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, 4ull * resident));
        return flat.launch(LaunchKind::plain, kernel, flat.grid(blocks), shared, arguments...);
    }

    [[nodiscard]] Status run_small(const SlotTable& table) const {
        // What is read word by word leaves time: fewer batches, so that offsets are waited for less often (.98 to 1.00, measured).
        const std::uint64_t blocks = (reads_words<Level> ? 16ull : 64ull) * flat.device.sms;
        const std::uint32_t batch = batch_of(flat.plan, blocks, team);
        return launch(groups_kernel<Level>, spec::tiles(groups.count, std::uint64_t{team} * batch), 0, input, groups,
                      batch, flat.levels.results, table);
    }
    [[nodiscard]] Status run_tiles(dim3 blocks, const RowTiles& rows, const SlotTable& table, Acc* results) const {
        return flat.launch(LaunchKind::plain, tiles_kernel<Level, team>, blocks, flat.template shared_bytes<team>(),
                           input, rows, table, results);
    }

    /// A warp a row, or several blocks.
    [[nodiscard]] Status run_rows() const {
        const std::uint64_t n = flat.n();
        if (n <= Level::Order::tile) return run_small({});
        const auto& levels = flat.levels;
        const RowTiles rows{levels.rows, n, levels.stride, levels.tiles[0], levels.pitch[0]};
        const dim3 blocks(flat.grid(rows.tiles), static_cast<unsigned>(std::min<std::uint64_t>(rows.rows, 65535)));
        const Status status = run_tiles(blocks, rows, {}, levels.partials[0]);
        return status.ok() ? flat.template upper_levels<team>() : status;
    }

    [[nodiscard]] Status run_segments() const {
        constexpr std::uint32_t length = Level::Order::tile;
        const SlotLayout layout = SlotLayout::of(flat.n(), length, sizeof(Acc));
        const SlotTable table = layout.table(workspace, length, Partial::Order::tile);
        auto* const results = reinterpret_cast<Acc*>(static_cast<char*>(workspace) + layout.results);
        Status status =
            from_cuda("cudaMemsetAsync", cudaMemsetAsync(table.used, 0, 2 * sizeof *table.used, flat.stream));
        if (status.ok()) status = run_small(table);
        if (!status.ok() || layout.room == 0) return status;
        status =
            run_tiles(flat.grid(std::min<std::uint64_t>(layout.room, 32ull * flat.device.sms)), {}, table, results);
        if (!status.ok()) return status;
        return launch(large_groups_kernel<Partial, team>, layout.room / 4, flat.template shared_bytes<team>(), table,
                      results, flat.levels.results);
    }

    [[nodiscard]] Status run() const {
        if (flat.plan.request().shape == Shape::columns) return run_columns<Level>(flat, input);
        return groups.offsets != nullptr ? run_segments() : run_rows();
    }
};

} // namespace detreduce::cuda
