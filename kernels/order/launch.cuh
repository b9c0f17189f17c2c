// Host side of the ops that compare, for one element type.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda_error.hpp"
#include "launch_kernel.hpp"
#include "order/order.cuh"

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
