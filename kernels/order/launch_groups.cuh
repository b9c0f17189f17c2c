// Host side of ops that compare or count, of groups: the same launches, of kernels that keep a key and an index (groups.cuh), or two keys or a count
// (tally.cuh).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda_error.hpp"
#include "launch_kernel.hpp"
#include "order/groups.cuh"
#include "order/tally.cuh"

namespace detreduce::cuda {

template <class Scan, class Results, class Partial>
struct OrderGroupsLaunch {
    void (*parts_kernel)(Scan, std::uint64_t, Parts, Partial*, Results);
    void (*join_parts_kernel)(Parts, const Partial*, Results);
    void (*groups_kernel)(Scan, Groups, std::uint32_t, SlotTable, Results);
    void (*slots_kernel)(Scan, SlotTable, Results, Partial*);
    void (*large_groups_kernel)(SlotTable, const Partial*, Results);
    const Plan& plan;
    Groups groups;
    void* workspace;
    Stream stream;
    DeviceTraits device;

    [[nodiscard]] Partial* partials(std::size_t offset) const {
        return reinterpret_cast<Partial*>(static_cast<char*>(workspace) + offset);
    }

    [[nodiscard]] Status run_by_threads(const Scan& scan, const Results& results) const {
        const PartLayout layout(plan.request(), sizeof(Partial));
        Partial* const found = partials(layout.results);
        const auto blocks = [](std::uint64_t threads) {
            return static_cast<std::uint32_t>(std::min<std::uint64_t>(spec::tiles(threads, part_threads), 0x7fffffff));
        };
        const Status status = launch_kernel(LaunchKind::plain, parts_kernel,
                                            blocks(layout.parts.words() * layout.parts.parts * warp_size), part_threads,
                                            0, stream, scan, groups.stride, layout.parts, found, results);
        if (!status.ok() || layout.parts.parts == 1) return status;
        return launch_kernel(LaunchKind::plain, join_parts_kernel, blocks(layout.parts.count), part_threads, 0, stream,
                             layout.parts, static_cast<const Partial*>(found), results);
    }

    [[nodiscard]] Status run(const Scan& scan, const Results& results) const {
        const Request& r = plan.request();
        if (detail::route_of(plan).scope == detail::Scope::thread) return run_by_threads(scan, results);
        const SlotLayout layout = order_group_layout(r);
        const SlotTable table = layout.table(workspace, order_slot_elements, 0, groups.step);
        Partial* const found = partials(layout.results);
        const std::uint32_t block = plan.launch().block;
        const auto launch = [&](auto kernel, std::uint64_t useful, const auto&... arguments) {
            const std::uint64_t most = plan.launch().grid ? plan.launch().grid : 32ull * device.sms;
            return launch_kernel(LaunchKind::plain, kernel,
                                 static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, most)), block, 0,
                                 stream, arguments...);
        };
        Status status;
        if (layout.room > 0) {
            status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(table.used, 0, 2 * sizeof *table.used, stream));
        }
        if (status.ok()) {
            const std::uint32_t batch = batch_of(plan, 64ull * device.sms, block / warp_size);
            status = launch(groups_kernel, spec::tiles(groups.count, std::uint64_t{block / warp_size} * batch), scan,
                            groups, batch, table, results);
        }
        if (!status.ok() || layout.room == 0) return status;
        status = launch(slots_kernel, layout.room, scan, table, results, found);
        if (!status.ok()) return status;
        return launch(large_groups_kernel, layout.room / 4, table, static_cast<const Partial*>(found), results);
    }
};

template <class T>
Status launch_order_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                           const DeviceTraits& device) {
    const Request& r = plan.request();
    const Groups groups = Groups::of(plan, in.offsets);
    const auto map = spec::KeyMap<T>::of(spec::view_of(r.op), r.nan);
    const order::GroupScan<T> scan{static_cast<const T*>(in.x), groups.step, typename order::GroupScan<T>::Keys(map)};
    const order::GroupResults<T> results{out,
                                         plan.output(),
                                         static_cast<std::uint32_t>(plan.result_bytes()),
                                         plan.result_is_integer(),
                                         r.op == Op::nrminf,
                                         map};
    return OrderGroupsLaunch<order::GroupScan<T>, order::GroupResults<T>, OrderPartial>{order::parts_kernel<T>,
                                                                                        order::join_parts_kernel<T>,
                                                                                        order::groups_kernel<T>,
                                                                                        order::slots_kernel<T>,
                                                                                        order::large_groups_kernel<T>,
                                                                                        plan,
                                                                                        groups,
                                                                                        workspace,
                                                                                        stream,
                                                                                        device}
        .run(scan, results);
}

template <class T>
Status launch_tally_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                           const DeviceTraits& device) {
    using Keys = typename order::GroupScan<T>::Keys;
    const Request& r = plan.request();
    const Groups groups = Groups::of(plan, in.offsets);
    const bool counts = info(r.op).kind == Kind::count;
    const auto least = spec::KeyMap<T>::of(spec::View::least, r.nan),
               greatest = spec::KeyMap<T>::of(spec::View::greatest, r.nan);
    const order::TallyScan<T> scan{{static_cast<const T*>(in.x), groups.step, Keys(greatest)}, Keys(least), counts};
    const order::TallyResults<T> results{out,    plan.output(), static_cast<std::uint32_t>(plan.result_bytes()),
                                         counts, least,         greatest};
    return OrderGroupsLaunch<order::TallyScan<T>, order::TallyResults<T>, order::Tally>{
        order::tally_parts_kernel<T>,
        order::tally_join_parts_kernel<T>,
        order::tally_groups_kernel<T>,
        order::tally_slots_kernel<T>,
        order::tally_large_groups_kernel<T>,
        plan,
        groups,
        workspace,
        stream,
        device}
        .run(scan, results);
}

} // namespace detreduce::cuda
