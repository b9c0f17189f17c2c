// Host side of `exact` of short flat inputs, for one element type.
#pragma once

#include "multiset/exact/launch.hpp"
#include "multiset/exact/small_join.cuh"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {

template <class T>
struct SmallLaunch : Run {
    std::uint32_t blocks = exact_small_blocks(request());

    template <class Map>
    using ShapeOf = typename exact::SmallOf<T, Map>::Shape;

    /// What each block leaves, from `place` on; and where it ends.
    template <class Map>
    [[nodiscard]] exact::SmallLeft left(exact::Word*& place) const {
        exact::Word* const parts = place;
        exact::Word* const slots = parts + blocks * exact_small_part_words;
        static_assert(ShapeOf<Map>::count + 1 <= exact_small_part_words);
        place = slots + std::size_t{blocks} * ShapeOf<Map>::words;
        return {parts, slots};
    }
    template <class Map, int V = policy::exact_small_loads, int Warps = exact::small_warps, bool Rows = false>
    [[nodiscard]] Status add(const exact::SmallLeft& left, const exact::Finish& finish = {},
                             LaunchKind kind = LaunchKind::plain) const {
        using Input = typename exact::SmallOf<T, Map, V>::Input;
        const auto input = exact::terms_of<Input>(*this, 1);
        constexpr std::uint64_t of_block = Input::tile * Warps;
        const std::uint64_t blocks_of_all = Rows ? plan.groups() : spec::tiles(request().n, of_block);
        return launch_kernel(kind, exact::small_kernel<T, Map, V, Warps, Rows>,
                             static_cast<std::uint32_t>(blocks_of_all), Warps * warp_size, 0, stream, input, left.parts,
                             left.slots, finish, spec::plain_binades<T>(std::min(request().n, of_block)),
                             detail::strides_of(request()).group);
    }
    /// By as many loads as the input asks for.
    template <class Map>
    [[nodiscard]] Status add_by_loads(const exact::SmallLeft& left, const exact::Finish& finish) const {
        if constexpr (exact_small_may_load_more<T, Map>)
            if (exact_small_vectors(request()) == policy::exact_small_more_loads)
                return add<Map, policy::exact_small_more_loads>(left, finish);
        return add<Map>(left, finish);
    }
    /// One block, after the kernel before.
    template <class... Parameters, class... Arguments>
    [[nodiscard]] Status join(void (*kernel)(Parameters...), const Arguments&... arguments) const {
        return launch_kernel(after_previous(device(), kernel), kernel, 1, exact_small_threads, 0, stream, arguments...);
    }

    [[nodiscard]] Status sum(exact::Word* place) const {
        const bool alone = detail::route_of(plan).scope == detail::Scope::block;
        return transforms::with_term(info(request().op).transform, [&]<class Map>(Map) -> Status {
            const auto finish = exact::Finish::of(plan, out);
            if constexpr (std::is_same_v<Map, transforms::Element>) {
                constexpr int loads = policy::exact_small_loads, warps = exact_double_block / warp_size;
                if (request().shape == Shape::rows) return add<Map, loads, warps, true>({}, finish);
                if (alone && plan.launch().block == exact_double_block) return add<Map, loads, warps>({}, finish);
            }
            const exact::SmallLeft parts = alone ? exact::SmallLeft{} : left<Map>(place);
            const Status added = add_by_loads<Map>(parts, finish);
            if (!added.ok() || alone) return added;
            return join(exact::join_small_kernel<ShapeOf<Map>>, parts.parts, static_cast<int>(blocks),
                        static_cast<const exact::Word*>(parts.slots), request().n, finish);
        });
    }
    [[nodiscard]] Status moments(exact::Word* place) const {
        using transforms::Element, transforms::Square;
        const exact::SmallLeft sums = left<Element>(place), squares = left<Square>(place);
        Status status = add<Element>(sums);
        if (status.ok()) status = add<Square>(squares, {}, after_previous(device(), exact::small_kernel<T, Square>));
        if (!status.ok()) return status;
        return join(exact::join_moments_kernel<ShapeOf<Element>, ShapeOf<Square>>, sums, squares,
                    static_cast<int>(blocks), request().n, exact::Finish::of(plan, out));
    }
};

template <class T>
Status launch_exact_small(const Run& run) {
    const SmallLaunch<T> launch{run};
    auto* const place = static_cast<exact::Word*>(run.workspace);
    return info(run.request().op).kind == Kind::moments ? launch.moments(place) : launch.sum(place);
}

} // namespace detreduce::cuda
