// Host side of the multiset engine, for one element type.
#pragma once

#include <type_traits>

#include "for_each.cuh"
#include "multiset/kernels.cuh"
#include "multiset/launch.hpp"

namespace detreduce::cuda {
namespace multiset {

template <class A>
struct MultisetLaunch : Run {
    using T = typename A::Type;
    A accumulator;
    Results results = Results::of(plan, out);
    Groups groups = Groups::of(plan, in.offsets);
    const T* x = static_cast<const T*>(in.x);

    [[nodiscard]] Found* found(std::size_t offset) const {
        return reinterpret_cast<Found*>(static_cast<char*>(workspace) + offset);
    }
    [[nodiscard]] Status run() const {
        const detail::Scope scope = detail::route_of(plan).scope;
        if (scope == detail::Scope::grid) return run_by_grid();
        return scope == detail::Scope::thread ? run_by_threads() : run_by_teams();
    }

  private:
    [[nodiscard]] Status run_by_grid() const {
        const Request& r = plan.request();
        const Tiles<T> tiles(x, r.n);
        std::uint32_t blocks = 0;
        Status status = choose_blocks(*this, grid_kernel<A>, useful_blocks(r, plan.launch()), blocks,
                                      tiles.full / (plan.launch().block / warp_size));
        if (!status.ok()) return status;
        status = launch_kernel(LaunchKind::plain, grid_kernel<A>, blocks, plan.launch().block, 0, stream, tiles,
                               accumulator, found(0), results);
        if (!status.ok() || blocks == 1) return status;
        return join(*this, r.dtype, found(0), {.one = {0, 0, blocks, 0, 0}}, results, {1, max_threads, true});
    }

    [[nodiscard]] Status run_by_threads() const {
        const PartLayout layout(plan.request(), sizeof(Found));
        const Parts& parts = layout.parts;
        const bool pairs = fp::has_16_bits<T> && groups.stride == 1 && groups.count % 2 == 0 && groups.step % 2 == 0 &&
                           reinterpret_cast<std::uintptr_t>(x) % 4 == 0;
        const LookAtColumns<A> look{x,     accumulator, groups.stride,         groups.step,
                                    pairs, parts,       found(layout.results), results};
        const Status status = for_each(parts.threads(pairs ? 2 : 1), look, stream,
                                       plan.launch().grid ? plan.launch().grid : for_each_most);
        if (!status.ok() || parts.parts == 1) return status;
        return join_parts(plan.request(), found(layout.results), parts, results, stream);
    }

    [[nodiscard]] Status run_by_teams() const {
        const WorkLayout layout = work_layout(plan.request());
        const WorkTable table = layout.table(workspace, item_elements(plan.request()), 0, groups.step);
        const std::uint32_t block = plan.launch().block, warps = block / warp_size,
                            wanted = batch_of(plan, policy::compare_batches * device().sms, warps);
        const std::uint64_t most = policy::compare_group_blocks * device().sms;
        Status status;
        if (layout.room > 0) status = clear(table.used, 2 * sizeof *table.used, stream);
        if (status.ok()) {
            const auto look = [&]<int Threads>(std::integral_constant<int, Threads>) {
                constexpr std::uint32_t teams = warp_size / Threads;
                const auto batch = static_cast<std::uint32_t>(spec::tiles(wanted, teams) * teams);
                return launch_kernel(LaunchKind::plain, teams_kernel<A, Threads>,
                                     blocks(spec::tiles(groups.count, std::uint64_t{warps} * batch), most), block, 0,
                                     stream, x, accumulator, groups, batch, table, results);
            };
            const int team = groups.offsets != nullptr ? warp_size : policy::compare_team(groups.n * sizeof(T));
            status = team == 1   ? look(std::integral_constant<int, 1>{})
                     : team == 2 ? look(std::integral_constant<int, 2>{})
                     : team == 4 ? look(std::integral_constant<int, 4>{})
                     : team == 8 ? look(std::integral_constant<int, 8>{})
                                 : look(std::integral_constant<int, warp_size>{});
        }
        if (!status.ok() || layout.room == 0) return status;
        status = launch_kernel(LaunchKind::plain, items_kernel<A>, blocks(layout.room, most), block, 0, stream, x,
                               accumulator, table, found(layout.results));
        if (!status.ok()) return status;
        const JoinWork work{.large = table.large, .large_count = table.used + 1, .item_length = table.length};
        return join(*this, plan.request().dtype, found(layout.results), work, results,
                    {blocks(layout.room / 4, most), block, false});
    }
};

/// One kernel looks at as many tensors as fit (tensors/list.hpp), blocks shared out by size. What
/// they found is joined as doubles, so that dtypes can be mixed.
template <class T>
Status look_at_list(const Run& run, const Results& results, bool& first) {
    return with_accumulator<T>(run.request(), [&]<class A>(const A& accumulator) {
        const Launch& launch = run.plan.launch();
        const std::uint32_t threads = launch.block;
        const ListLayout layout;
        Found* const known = reinterpret_cast<Found*>(static_cast<char*>(run.workspace) + layout.known);
        const TensorEntry* const tensors = layout.list.entries_in(run.workspace);
        const std::uint32_t* const tensor_of_block = layout.list.blocks_in(run.workspace);
        const auto join_all = [&](std::uint32_t blocks, const JoinWork& work) {
            return join(run, dtype_of<T>, known + 1, work, results, {blocks, threads, false});
        };
        TensorCursor cursor(run.plan, run.in, dtype_of<T>);
        std::uint32_t resident = 0;
        Status status;
        if (!cursor.done()) status = count_resident(list_kernel<A>, threads, 0, run.device(), resident);
        const double blocks = launch.grid ? launch.grid : policy::list_blocks * resident;
        for (; status.ok() && !cursor.done(); first = false) {
            const TensorParts parts = cursor.take(blocks, threads * 64.0 / sizeof(T));
            status = upload_tensors(parts, layout.list, run.workspace, nullptr, 0, run.stream);
            if (status.ok()) {
                status = launch_kernel(LaunchKind::plain, list_kernel<A>, parts.blocks, threads, 0, run.stream,
                                       accumulator, tensors, tensor_of_block, known + 1);
            }
            if (status.ok() && run.request().each) {
                status = join_all(parts.count, {.tensors = tensors, .count = parts.count});
            }
            if (!status.ok()) break;
            status =
                join_all(1, {.one = {run.plan.groups() - 1, 0, parts.blocks, 0, 0}, .known = known, .first = first});
        }
        return status;
    });
}

} // namespace multiset

template <class T>
Status launch_multiset(const Run& run) {
    return multiset::with_accumulator<T>(run.request(), [&]<class A>(const A& accumulator) {
        return multiset::MultisetLaunch<A>{run, accumulator}.run();
    });
}

} // namespace detreduce::cuda
