// Sums of the terms of ops.
#pragma once

#include "flat/launch.cuh"

namespace detreduce::cuda {

/// f(Map{}, accumulator) for the term and the method of the plan; the accumulator is null, and there for its type.
template <class T, class F>
Status with_term_and_accumulator(const Plan& plan, const F& f) {
    using V = fp::Arithmetic<T>;
    return terms::with_term(info(plan.request().op).term, [&]<class Map>(Map map) -> Status {
        switch (plan.request().method) {
        case Method::kahan:
            return f(map, static_cast<const acc::Kahan<V>*>(nullptr));
        case Method::compensated:
            return f(map, static_cast<const acc::Compensated<V>*>(nullptr));
        default:
            return f(map, static_cast<const acc::Rounded<V>*>(nullptr));
        }
    });
}

template <class T>
Status launch_flat_terms(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                         const DeviceTraits& device) {
    return with_term_and_accumulator<T>(plan, [&]<class Map, class Acc>(Map, const Acc*) -> Status {
        if constexpr (Map::term == Term::element) {
            return launch_flat<T>(plan, in.x, out, workspace, stream, device); // which has kernels of its own
        } else {
            const FlatLaunch<T, Acc> launch(plan, in.x, out, workspace, stream, device);
            return launch.template run_terms<Map>(static_cast<const T*>(in.y));
        }
    });
}

} // namespace detreduce::cuda
