// flat_terms_<dtype>.cu: sums of the terms of ops.
#pragma once

#include "flat/launch.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_flat_terms(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                         const DeviceTraits& device) {
    using V = fp::Arithmetic<T>;
    return terms::with_term(info(plan.request().op).term, [&]<class Map>(Map) -> Status {
        const auto run = [&]<class Acc>(const Acc*) -> Status {
            const FlatLaunch<T, Acc> launch(plan, in.x, out, workspace, stream, device);
            return launch.template run_terms<Map>(static_cast<const T*>(in.y));
        };
        switch (plan.request().method) {
        case Method::kahan:
            return run(static_cast<const acc::Kahan<V>*>(nullptr));
        case Method::compensated:
            return run(static_cast<const acc::Compensated<V>*>(nullptr));
        default:
            return run(static_cast<const acc::Rounded<V>*>(nullptr));
        }
    });
}

} // namespace detreduce::cuda
