// groups_<dtype>.cu: sums, in a fixed order, of the terms of groups.
#pragma once

#include "columns/columns.cuh"
#include "flat/launch_terms.cuh"
#include "groups/sums.cuh"

namespace detreduce::cuda {

/// Known: all groups are aligned, which is known when this is compiled (FlatLaunch::knows_alignment).
template <class T, class Acc, class Map, bool Known>
struct GroupLaunch {
    using Level = TermLevel<T, Acc, Map, Known>;
    using Partial = PartialLevel<Acc>;
    static constexpr int team = max_block / warp_size;

    FlatLaunch<T, Acc> flat;
    typename Level::Pointer input;
    Groups groups;
    void* workspace;

    bool aligned;

    GroupLaunch(const FlatLaunch<T, Acc>& f, const T* y, const Groups& g, void* ws, bool all_aligned)
        : flat(f), input(Level::Items::pointer(f.x, y, all_aligned)), groups(g), workspace(ws), aligned(all_aligned) {}

    template <class Kernel, class... Arguments>
    [[nodiscard]] Status launch(Kernel kernel, std::uint64_t useful, std::size_t shared,
                                const Arguments&... arguments) const {
        std::uint32_t resident = 0;
        if (const Status bad = flat.count_resident(kernel, shared, resident); !bad.ok()) return bad;
        const auto blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, 4ull * resident));
        return flat.launch(LaunchKind::plain, kernel, flat.grid(blocks), shared, arguments...);
    }

    [[nodiscard]] Status run_small(const SlotTable& table) const {
        const std::uint32_t batch = batch_of(flat.plan, 64ull * flat.device.sms, team);
        return launch(groups_kernel<Level>, spec::tiles(groups.count, std::uint64_t{team} * batch), 0, input, groups,
                      batch, flat.levels.results, table);
    }
    /// As many threads as have a lane for each element, or more, share a row.
    template <int Steps, bool Vectors>
    [[nodiscard]] Status run_short() const {
        constexpr std::uint32_t per_thread = Level::Order::lanes / warp_size;
        std::uint32_t threads = 1;
        while (threads < warp_size && threads * per_thread < flat.n())
            threads *= 2;
        const std::uint64_t warps = spec::tiles(groups.count, rows_in_flight<Steps> * (warp_size / threads));
        using RowLevel = TermLevel<T, Acc, Map, Vectors>;
        const T* y = nullptr;
        if constexpr (Map::inputs == 2) y = input.y;
        return launch(short_rows_kernel<RowLevel, Steps>, spec::tiles(warps, team), 0,
                      RowLevel::Items::pointer(input.x, y, false), groups, threads, flat.levels.results);
    }
    [[nodiscard]] Status run_tiles(dim3 blocks, const RowTiles& rows, const SlotTable& table, Acc* results) const {
        return flat.launch(LaunchKind::plain, tiles_kernel<Level, team>, blocks, flat.template shared_bytes<team>(),
                           input, rows, table, results);
    }

    [[nodiscard]] Status run_rows() const {
        const std::uint64_t n = flat.n();
        const bool vectors = aligned && n % (Level::Order::lanes / warp_size) == 0;
        if (n <= Level::Order::lanes) return vectors ? run_short<1, true>() : run_short<1, false>();
        if constexpr (Map::inputs == 1 && !Acc::keeps_errors) { // for the others a warp a row does
            if (vectors && n <= 2 * Level::Order::lanes) return run_short<2, true>();
            if (vectors && n <= 4 * Level::Order::lanes) return run_short<4, true>();
        }
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
        if constexpr (!Known) {
            if (flat.plan.request().shape == Shape::columns) return run_columns<Level>(flat, input);
            if (groups.offsets != nullptr) return run_segments();
        }
        return run_rows();
    }
};

template <class T>
Status launch_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                     const DeviceTraits& device) {
    return with_term_and_accumulator<T>(plan, [&]<class Map, class Acc>(Map, const Acc*) {
        using Flat = FlatLaunch<T, Acc>;
        const Flat flat(plan, in.x, out, workspace, stream, device);
        const auto* const y = static_cast<const T*>(in.y);
        const Groups groups = Groups::of(plan, in.offsets);
        // One answer for all groups, which a kernel need not ask for each: threads that may go different ways wait for one another.
        const bool aligned = plan.request().shape == Shape::rows && flat.aligned() && Flat::aligned(y) &&
                             groups.stride * sizeof(T) % 16 == 0;
        if constexpr (Flat::knows_alignment) {
            if (aligned) return GroupLaunch<T, Acc, Map, true>(flat, y, groups, workspace, true).run();
        }
        return GroupLaunch<T, Acc, Map, false>(flat, y, groups, workspace, aligned).run();
    });
}

} // namespace detreduce::cuda
