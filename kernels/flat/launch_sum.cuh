// Sums of elements.
#pragma once

#include "flat/launch.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_flat(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                   const DeviceTraits& device) {
    using V = fp::Arithmetic<T>;
    switch (plan.request().method) {
    case Method::kahan:
        return FlatLaunch<T, acc::Kahan<V>>(plan, x, out, workspace, stream, device).run();
    case Method::compensated:
        return FlatLaunch<T, acc::Compensated<V>>(plan, x, out, workspace, stream, device).run();
    case Method::atomic:
        return FlatLaunch<T, acc::Rounded<V>>(plan, x, out, workspace, stream, device).run_atomic(workspace);
    default:
        return FlatLaunch<T, acc::Rounded<V>>(plan, x, out, workspace, stream, device).run();
    }
}

} // namespace detreduce::cuda
