// Host side of the ops that compare, for one element type. Instantiated in order_<dtype>.cu.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda_error.hpp"
#include "launch_kernel.hpp"
#include "order/groups.cuh"

namespace detreduce::cuda {

template <class T, spec::View V, bool Index>
struct OrderLaunch {
    const Plan& plan;
    order::Tiles<T> tiles;
    OrderPartial* partials;
    order::Result result;
    Stream stream;
    DeviceTraits device;

    /// As many as the device holds, or three times that where there is enough to do: the end is then less ragged.
    [[nodiscard]] Status choose_blocks(std::uint32_t& blocks) const {
        blocks = order_blocks(plan.request(), plan.launch());
        if (plan.launch().grid != 0) return {};
        std::uint32_t resident = 0;
        const Status status =
            cuda::count_resident(order::scan_kernel<T, V, Index>, plan.launch().block, 0, device, resident);
        const bool large = tiles.full / (plan.launch().block / warp_size) >= 16ull * resident;
        blocks = std::min(blocks, large ? 3 * resident : resident);
        return status;
    }

    [[nodiscard]] Status run() const {
        std::uint32_t blocks = 0;
        if (const Status bad = choose_blocks(blocks); !bad.ok()) return bad;
        const NanPolicy nan = plan.request().nan;
        const Status scanned = launch_kernel(LaunchKind::plain, order::scan_kernel<T, V, Index>, blocks,
                                             plan.launch().block, 0, stream, tiles, nan, partials, result);
        if (!scanned.ok() || blocks == 1) return scanned;
        const auto finish = order::finish_kernel<T, V, Index>;
        return launch_kernel(after_previous(device, finish), finish, 1, order::max_threads, 0, stream,
                             static_cast<const OrderPartial*>(partials), blocks, nan, result);
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
    if (by_threads(r)) {
        const PartLayout layout(r, sizeof(OrderPartial));
        auto* const found = reinterpret_cast<OrderPartial*>(static_cast<char*>(workspace) + layout.results);
        const auto blocks = [](std::uint64_t threads) {
            return static_cast<std::uint32_t>(std::min<std::uint64_t>(spec::tiles(threads, part_threads), 0x7fffffff));
        };
        const Status status = launch_kernel(LaunchKind::plain, order::parts_kernel<T>,
                                            blocks(layout.parts.words() * layout.parts.parts * warp_size), part_threads,
                                            0, stream, scan, groups.stride, layout.parts, found, results);
        if (!status.ok() || layout.parts.parts == 1) return status;
        return launch_kernel(LaunchKind::plain, order::join_parts_kernel<T>, blocks(layout.parts.count), part_threads,
                             0, stream, layout.parts, static_cast<const OrderPartial*>(found), results);
    }
    const SlotLayout layout = order_group_layout(r);
    const SlotTable table = layout.table(workspace, order_slot_elements, 0, groups.step);
    auto* const found = reinterpret_cast<OrderPartial*>(static_cast<char*>(workspace) + layout.results);
    const std::uint32_t block = plan.launch().block;
    const auto run = [&](auto kernel, std::uint64_t useful, const auto&... arguments) {
        const std::uint64_t most = plan.launch().grid ? plan.launch().grid : 32ull * device.sms;
        return launch_kernel(LaunchKind::plain, kernel,
                             static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, most)), block, 0, stream,
                             arguments...);
    };
    Status status;
    if (layout.room > 0) {
        status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(table.used, 0, 2 * sizeof *table.used, stream));
    }
    if (status.ok()) {
        const std::uint32_t batch = batch_of(plan, 64ull * device.sms, block / warp_size);
        status = run(order::groups_kernel<T>, spec::tiles(groups.count, std::uint64_t{block / warp_size} * batch), scan,
                     groups, batch, table, results);
    }
    if (!status.ok() || layout.room == 0) return status;
    status = run(order::slots_kernel<T>, layout.room, scan, table, results.index, found);
    if (!status.ok()) return status;
    return run(order::large_groups_kernel<T>, layout.room / 4, table, static_cast<const OrderPartial*>(found), results);
}

template <class T>
Status launch_order(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                    const DeviceTraits& device) {
    using enum spec::View;
    const auto launch = [&]<spec::View V, bool Index>() {
        return OrderLaunch<T, V, Index>{plan,
                                        {static_cast<const T*>(x), plan.request().n},
                                        static_cast<OrderPartial*>(workspace),
                                        {out, plan.output()},
                                        stream,
                                        device}
            .run();
    };
    switch (plan.request().op) {
    case Op::min:
        return launch.template operator()<least, false>();
    case Op::argmin:
        return launch.template operator()<least, true>();
    case Op::argmax:
        return launch.template operator()<greatest, true>();
    case Op::nrminf:
        return launch.template operator()<magnitude, false>();
    default:
        return launch.template operator()<greatest, false>();
    }
}

} // namespace detreduce::cuda
