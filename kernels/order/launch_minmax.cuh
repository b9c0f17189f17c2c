// Host side of minmax, for one element type.
#pragma once

#include "launch_blocks.hpp"
#include "launch_kernel.hpp"
#include "order/minmax.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_minmax(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                     const DeviceTraits& device) {
    std::uint32_t blocks = 0;
    const Status chosen =
        choose_blocks(plan, device, order::minmax_kernel<T>, order_blocks(plan.request(), plan.launch()), blocks);
    if (!chosen.ok()) return chosen;
    const NanPolicy nan = plan.request().nan;
    const order::Tiles<T> tiles(static_cast<const T*>(x), plan.request().n);
    const order::Result result{out, plan.output()};
    const auto result_bytes = static_cast<std::uint32_t>(plan.result_bytes());
    auto* const partials = static_cast<order::BothEnds*>(workspace);
    const Status scanned = launch_kernel(LaunchKind::plain, order::minmax_kernel<T>, blocks, plan.launch().block, 0,
                                         stream, tiles, nan, partials, result, result_bytes);
    if (!scanned.ok() || blocks == 1) return scanned;
    const auto finish = order::finish_minmax_kernel<T>;
    return launch_kernel(after_previous(device, finish), finish, 1, order::max_threads, 0, stream,
                         static_cast<const order::BothEnds*>(partials), blocks, nan, result, result_bytes);
}

} // namespace detreduce::cuda
