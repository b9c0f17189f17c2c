// Host side of mean and variance by `tree`, for one element type.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "platform/launch_kernel.hpp"
#include "moments/kernels.cuh"
#include "moments/launch.hpp"
#include "moments/result.hpp"
#include "workspace.hpp"

namespace detreduce::cuda {

template <class T>
struct MomentsLaunch {
    using V = fp::Arithmetic<T>;
    using Acc = acc::Moments<V>;
    using Level = moment_kernels::Level<V>;

    const Plan& plan;
    char* workspace;
    Stream stream;
    DeviceTraits device;
    Workspace layout;
    acc::MomentsResult result;

    /// Level l, whose items, `unit` elements each, lie `stride` apart from row to row.
    [[nodiscard]] Level level(int l, std::uint64_t items, std::uint64_t unit, std::uint64_t stride) const {
        return {plan.groups(),
                items,
                unit,
                plan.request().n,
                stride,
                layout.tiles[l],
                layout.pitch[l],
                reinterpret_cast<Acc*>(workspace + layout.partials[l]),
                result};
    }
    template <class Items>
    [[nodiscard]] Status launch(LaunchKind kind, const typename Items::Pointer& x, const Level& level) const {
        const std::uint64_t most = plan.launch().grid ? plan.launch().grid : 0x7fffffffu;
        const bool short_rows =
            Items::source == Source::partials && level.items <= most_short_rows * Items::Order::lanes; // a warp each
        const std::uint64_t useful =
            short_rows ? spec::tiles(level.rows, moment_kernels::block_warps) : level.rows * level.tiles;
        const auto blocks = static_cast<std::uint32_t>(std::min(useful, most));
        return launch_kernel(kind, moment_kernels::level_kernel<Items>, blocks, moment_kernels::block_threads, 0,
                             stream, x, level);
    }

    [[nodiscard]] Status run_first(const T* x) const {
        const auto first = level(0, plan.request().n, 1, plan.stride());
        const bool aligned = reinterpret_cast<std::uintptr_t>(x) % 16 == 0 &&
                             (plan.groups() == 1 || plan.stride() * sizeof(T) % 16 == 0);
        if constexpr (fp::is_narrow<T>) { // which has no registers to spare for the other way
            if (aligned) return launch<moment_kernels::Elements<T, true>>(LaunchKind::plain, {x}, first);
        }
        return launch<moment_kernels::Elements<T>>(LaunchKind::plain, {x, aligned}, first);
    }

    [[nodiscard]] Status run(const T* x) const {
        using Upper = moment_kernels::Partials<V>;
        Status status = run_first(x);
        std::uint64_t unit = moment_kernels::Elements<T>::Order::tile;
        for (int l = 0; status.ok() && l + 1 < max_levels && layout.tiles[l] > 1; ++l) {
            const Acc* const items = reinterpret_cast<const Acc*>(workspace + layout.partials[l]);
            status = launch<Upper>(after_previous(device, moment_kernels::level_kernel<Upper>), items,
                                   level(l + 1, layout.tiles[l], unit, layout.pitch[l]));
            unit *= Upper::Order::tile;
        }
        return status;
    }
};

template <class T>
Status launch_moments_tree(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                           const DeviceTraits& device) {
    const Workspace layout = workspace_layout(plan.request().dtype, sizeof(acc::Moments<fp::Arithmetic<T>>),
                                              plan.request().n, plan.groups());
    const MomentsLaunch<T> launch{plan,   static_cast<char*>(workspace), stream, device,
                                  layout, moments_result(plan, out)};
    return launch.run(static_cast<const T*>(x));
}

} // namespace detreduce::cuda
