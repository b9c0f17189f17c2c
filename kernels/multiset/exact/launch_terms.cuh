// Sums of the terms of ops.
#pragma once

#include "multiset/exact/launch.cuh"
#include "multiset/exact/terms.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_exact_terms(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                          const DeviceTraits& device) {
    return exact::with_map(plan.request().op, [&]<class Map>(Map) -> Status {
        using transforms::Element, transforms::Magnitude;
        if constexpr (std::is_same_v<Map, Element> ||
                      std::is_same_v<Map, Magnitude>) { // which have kernels of their own
            return launch_exact<T>(plan, in.x, out, workspace, stream, device);
        } else {
            using Input = exact::Terms<T, Map, exact::long_tile<T, Map>>;
            static_assert(ExactLaunch<Input>::words * sizeof(exact::Word) + 2 * sizeof(std::uint32_t) <=
                          (exact::is_moments<Map> ? exact_moments_workspace_bytes : exact_terms_workspace_bytes));
            const Input input(static_cast<const T*>(in.x), static_cast<const T*>(in.y), plan.request().n, 1);
            return ExactLaunch<Input>{input, stream, device}.reduce(plan, out, workspace);
        }
    });
}

} // namespace detreduce::cuda
