// exact_terms_<dtype>.cu: sums of the terms of ops.
#pragma once

#include "exact/launch.cuh"
#include "exact/terms.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_exact_terms(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                          const DeviceTraits& device) {
    return terms::with_term(info(plan.request().op).term, [&]<class Map>(Map) -> Status {
        if constexpr (Map::term == Term::element) {
            return launch_exact<T>(plan, in.x, out, workspace, stream, device);
        } else {
            using Input = exact::Terms<T, Map>;
            const Input input(static_cast<const T*>(in.x), static_cast<const T*>(in.y), plan.request().n);
            static_assert(ExactLaunch<Input>::words * sizeof(exact::Word) + 2 * sizeof(std::uint32_t) <=
                          exact_terms_workspace_bytes);
            return ExactLaunch<Input>{input, stream, device}.reduce(plan, out, workspace);
        }
    });
}

} // namespace detreduce::cuda
