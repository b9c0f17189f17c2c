// Sums, in a fixed order, of the terms of groups, or of all of a flat array.
#pragma once

#include "sequence/launch_groups.cuh"

namespace detreduce::cuda {

/// A: of all groups.
template <class T, class Acc, class Map, Alignment A>
struct SumLaunch : GroupLaunch<T, TermLevel<T, Acc, Map, A>> {
    using Base = GroupLaunch<T, TermLevel<T, Acc, Map, A>>;
    using Level = typename Base::Level;
    using Base::flat, Base::groups;

    bool aligned;

    SumLaunch(const FlatLaunch<T, Acc>& f, bool all_aligned)
        : Base{f, Level::Items::pointer(f.x, f.y, all_aligned)}, aligned(all_aligned) {}

    /// As many threads as have a lane for each element, or more, share a row.
    template <int Steps, bool Vectors>
    [[nodiscard]] Status run_short() const {
        constexpr std::uint32_t per_thread = Level::Order::lanes / warp_size;
        std::uint32_t threads = 1;
        while (threads < warp_size && threads * per_thread < flat.n())
            threads *= 2;
        const std::uint64_t warps = spec::tiles(groups.count, rows_in_flight<Steps> * (warp_size / threads));
        // Lanes of one element each are merged in the same way by kahan and by compensated.
        using RowAcc = std::conditional_t<Acc::keeps_errors, acc::Compensated<typename Acc::Value>, Acc>;
        using RowLevel = TermLevel<T, RowAcc, Map, Vectors ? Alignment::known : Alignment::seen>;
        return flat.launch_resident(short_rows_kernel<RowLevel, Steps>, spec::tiles(warps, block_warps), 0,
                                    RowLevel::Items::pointer(flat.x, flat.y, false), groups, threads,
                                    flat.levels.results);
    }

    [[nodiscard]] Status run_rows() const {
        const std::uint64_t n = flat.n();
        const bool vectors = aligned && n % (Level::Order::lanes / warp_size) == 0;
        if (n <= Level::Order::lanes) return vectors ? run_short<1, true>() : run_short<1, false>();
        if constexpr (Map::inputs == 1 && !Acc::keeps_errors) { // for the others a warp a row does
            if (vectors && n <= 2 * Level::Order::lanes) return run_short<2, true>();
            if (vectors && n <= 4 * Level::Order::lanes) return run_short<4, true>();
        }
        return Base::run_whole();
    }

    [[nodiscard]] Status run() const {
        if (flat.plan.request().shape == Shape::rows) return run_rows();
        if constexpr (A == Alignment::known) {
            return Base::run_whole();
        } else {
            return Base::run();
        }
    }
};

/// f(Map{}, accumulator) for the term and the method of the plan; the accumulator is null, and
/// there for its type.
template <class T, class F>
Status with_term_and_accumulator(const Request& r, const F& f) {
    return transforms::with_term(info(r.op).transform, [&]<class Map>(Map map) -> Status {
        return with_accumulator<fp::Arithmetic<T>>(r.method,
                                                   [&](const auto* accumulator) { return f(map, accumulator); });
    });
}

template <class T>
Status launch_groups(const Run& run) {
    return with_term_and_accumulator<T>(run.request(), [&]<class Map, class Acc>(Map, const Acc*) {
        using Flat = FlatLaunch<T, Acc>;
        const Flat flat(run);
        // One answer for all groups, which a kernel need not ask for each: threads that may go
        // different ways wait for one another.
        const bool aligned = all_aligned(flat) && Flat::aligned(flat.y);
        if constexpr (Flat::knows_alignment) {
            if (aligned) return SumLaunch<T, Acc, Map, Alignment::known>(flat, true).run();
            return SumLaunch<T, Acc, Map, Alignment::never>(flat, false).run();
        } else {
            return SumLaunch<T, Acc, Map, Alignment::seen>(flat, aligned).run();
        }
    });
}

} // namespace detreduce::cuda
