// Sums of the terms of ops.
#pragma once

#include "exact/launch.cuh"
#include "exact/terms.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_exact_terms(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                          const DeviceTraits& device) {
    return transforms::with_term(info(plan.request().op).transform, [&]<class Map>(Map) -> Status {
        if constexpr (Map::linear && Map::inputs == 1) {
            return launch_exact<T>(plan, in.x, out, workspace, stream, device); // which has kernels of its own
        } else {
            using Input = exact::Terms<T, Map, exact::long_tile<Map>>;
            static_assert(ExactLaunch<Input>::words * sizeof(exact::Word) + 2 * sizeof(std::uint32_t) <=
                          exact_terms_workspace_bytes);
            const Input input(static_cast<const T*>(in.x), static_cast<const T*>(in.y), plan.request().n, 1);
            return ExactLaunch<Input>{input, stream, device}.reduce(plan, out, workspace);
        }
    });
}

template <class T>
Status launch_exact_squares(acc::exact::Word* states, const void* x, std::uint64_t n, Stream stream,
                            const DeviceTraits& device, std::uint32_t grid) {
    using Input = exact::Terms<T, transforms::Square, exact::long_tile<transforms::Square>>;
    return ExactLaunch<Input>{Input(static_cast<const T*>(x), nullptr, n, 1), stream, device}.add_to(states, grid);
}

} // namespace detreduce::cuda
