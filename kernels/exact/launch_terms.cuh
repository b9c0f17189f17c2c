// exact_terms_<dtype>.cu: sums of the terms of ops.
#pragma once

#include "exact/launch.cuh"
#include "exact/terms.cuh"

namespace detreduce::cuda {

template <class T>
Status launch_exact_terms(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                          const DeviceTraits& device) {
    return terms::with_term(info(plan.request().op).term, [&]<class Map>(Map) -> Status {
        using Input = exact::Terms<T, Map>;
        const Input input(static_cast<const T*>(in.x), static_cast<const T*>(in.y), plan.request().n,
                          Groups::of(plan, in.offsets).step);
        static_assert(ExactLaunch<Input, true>::words * sizeof(exact::Word) + 2 * sizeof(std::uint32_t) <=
                      exact_terms_workspace_bytes);
        const ExactLaunch<Input, true> launch{input, stream, device};
        if (plan.request().shape != Shape::flat) return launch.reduce_groups(plan, in.offsets, out, workspace);
        return launch.reduce(plan, out, workspace);
    });
}

/// A list of tensors whose elements are T. Of terms that are one state the words go to the middle one of three.
template <class T>
Status add_exact_tensors(Term term, exact::Word* state, exact::GroupWork work, std::uint32_t blocks, int states,
                         Stream stream, const DeviceTraits& device) {
    return terms::with_term(term, [&]<class Map>(Map) -> Status {
        if constexpr (Map::inputs == 1) {
            using Input = exact::Terms<T, Map>;
            const int middle = states > Input::states ? acc::exact::words : 0;
            if (work.states) work.states += middle;
            return ExactLaunch<Input, true>{Input(nullptr, nullptr, 0, 1), stream, device}.add_tensors(state + middle,
                                                                                                       work, blocks);
        } else {
            return {StatusCode::unsupported, "op", "tensors are for ops of one input"}; // make_plan() has refused it
        }
    });
}

/// Blocks that the device holds at once.
template <class T>
Status count_resident_for_tensors(const DeviceTraits& device, std::uint32_t& blocks) {
    return ExactLaunch<exact::Terms<T, terms::Square>, true>{{nullptr, nullptr, 0, 1}, nullptr, device}.count_resident(
        blocks);
}

template <class T>
Status launch_exact_squares(acc::exact::Word* states, const void* x, std::uint64_t n, Stream stream,
                            const DeviceTraits& device, std::uint32_t grid) {
    using Input = exact::Terms<T, terms::Square>;
    return ExactLaunch<Input, true>{Input(static_cast<const T*>(x), nullptr, n, 1), stream, device}.add_to(states,
                                                                                                           grid);
}

} // namespace detreduce::cuda
