// Sums of the terms of ops.
#pragma once

#include "multiset/exact/launch.cuh"
#include "multiset/exact/terms.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_exact_terms(const Run& run) {
    return exact::with_map(run.request().op, [&]<class Map>(Map) -> Status {
        using transforms::Element, transforms::Magnitude;
        if constexpr (std::is_same_v<Map, Element> ||
                      std::is_same_v<Map, Magnitude>) { // which have kernels of their own
            return launch_exact<T>(run);
        } else {
            using Input = exact::Terms<T, Map, exact::long_tile<T, Map>>;
            static_assert(ExactLaunch<Input>::words * sizeof(exact::Word) + 2 * sizeof(std::uint32_t) <=
                          (exact::is_moments<Map> ? exact_moments_workspace_bytes : exact_terms_workspace_bytes));
            return ExactLaunch<Input>{run, exact::terms_of<Input>(run, 1)}.reduce();
        }
    });
}

} // namespace detreduce::cuda
