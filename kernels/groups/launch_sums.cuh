// groups_<dtype>.cu: sums, in a fixed order, of the terms of groups.
#pragma once

#include "columns/columns.cuh"
#include "flat/launch_terms.cuh"
#include "groups/sums.cuh"

namespace detreduce::cuda {

template <class T, class Acc, class Map>
struct GroupLaunch {
    using Level = TermLevel<T, Acc, Map>;
    using Partial = PartialLevel<Acc>;
    static constexpr int team = max_block / warp_size;

    FlatLaunch<T, Acc> flat;
    typename Level::Pointer input;
    Groups groups;
    void* workspace;

    GroupLaunch(const Plan& plan, const Inputs& in, void* out, void* ws, Stream stream, const DeviceTraits& device)
        : flat(plan, in.x, out, ws, stream, device), input(flat.template input<Level>(static_cast<const T*>(in.y))),
          groups(Groups::of(plan, in.offsets)), workspace(ws) {
        // One answer for all groups, which a kernel need not ask for each: threads that may go different ways wait for one another.
        input.aligned = input.aligned && groups.offsets == nullptr && groups.stride * sizeof(T) % 16 == 0;
    }

    template <class Kernel, class... Arguments>
    [[nodiscard]] Status launch(Kernel kernel, std::uint64_t useful, std::size_t shared,
                                const Arguments&... arguments) const {
        std::uint32_t resident = 0;
        if (const Status bad = flat.count_resident(kernel, shared, resident); !bad.ok()) return bad;
        const auto blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, 4ull * resident));
        return flat.launch(LaunchKind::plain, kernel, flat.grid(blocks), shared, arguments...);
    }

    [[nodiscard]] Status run_small(const SlotTable& table) const {
        return launch(groups_kernel<Level>, spec::tiles(groups.count, team), 0, input, groups, flat.levels.results,
                      table);
    }
    /// As many threads as have a lane each, or more, share a row.
    [[nodiscard]] Status run_short(std::uint32_t threads) const {
        const std::uint64_t warps = spec::tiles(groups.count, rows_in_flight * (warp_size / threads));
        return launch(short_rows_kernel<Level>, spec::tiles(warps, team), 0, input, groups, threads,
                      flat.levels.results);
    }
    [[nodiscard]] Status run_tiles(std::uint64_t useful, const RowTiles& rows, const SlotTable& table,
                                   Acc* results) const {
        return launch(tiles_kernel<Level, team>, useful, flat.template shared_bytes<team>(), input, rows, table,
                      results);
    }

    [[nodiscard]] Status run_rows() const {
        const std::uint64_t n = flat.n();
        if (n <= Level::Order::tile) {
            constexpr std::uint32_t per_thread = Level::Order::lanes / warp_size;
            std::uint32_t threads = 1;
            while (threads < warp_size && threads * per_thread < n)
                threads *= 2;
            if (n <= Level::Order::lanes) return run_short(threads);
            return run_small({});
        }
        const auto& levels = flat.levels;
        const RowTiles rows{levels.rows, n, levels.stride, levels.tiles[0], levels.pitch[0]};
        const Status status = run_tiles(rows.rows * rows.tiles, rows, {}, levels.partials[0]);
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
        status = run_tiles(layout.room, {}, table, results);
        if (!status.ok()) return status;
        return launch(large_groups_kernel<Partial, team>, layout.room / 4, flat.template shared_bytes<team>(), table,
                      results, flat.levels.results);
    }

    [[nodiscard]] Status run() const {
        switch (flat.plan.request().shape) {
        case Shape::columns:
            return run_columns<Level>(flat, input);
        case Shape::segments:
            return run_segments();
        default:
            return run_rows();
        }
    }
};

template <class T>
Status launch_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                     const DeviceTraits& device) {
    return with_term_and_accumulator<T>(plan, [&]<class Map, class Acc>(Map, const Acc*) {
        return GroupLaunch<T, Acc, Map>(plan, in, out, workspace, stream, device).run();
    });
}

} // namespace detreduce::cuda
