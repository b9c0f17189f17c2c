// Host side of the flat kernels, for one element type and accumulator: the only place that launches them. Instantiated in
// flat_f32.cu and flat_f64.cu.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <detreduce/acc/rounded.hpp>

#include "cuda_error.hpp"
#include "flat/kernels.cuh"
#include "flat/launch.hpp"
#include "workspace.hpp"

namespace detreduce::cuda {

template <class T, class Acc>
struct FlatLaunch {
    using Partial = PartialLevel<T, Acc>;
    using LevelsOf = Levels<Acc, T>;

    const Plan& plan;
    const T* x;
    cudaStream_t stream;
    DeviceTraits device;
    LevelsOf levels;
    std::uint32_t* counters;
    std::size_t counter_bytes;

    FlatLaunch(const Plan& p, const void* input, void* out, void* workspace, Stream s, const DeviceTraits& d)
        : plan(p), x(static_cast<const T*>(input)), stream(s), device(d) {
        const Workspace layout = workspace_layout(plan.request().dtype, sizeof(Acc), plan.request().n);
        auto* const base = static_cast<char*>(workspace);
        levels.out = static_cast<T*>(out);
        for (int l = 0; l < max_levels; ++l) {
            levels.tiles[l] = layout.tiles[l];
            levels.partials[l] = reinterpret_cast<Acc*>(base + layout.partials[l]);
            levels.done[l] = reinterpret_cast<std::uint32_t*>(base + layout.counters[l]);
        }
        counters = reinterpret_cast<std::uint32_t*>(base + layout.counters[0]);
        counter_bytes = layout.bytes - layout.counters[0];
    }

    [[nodiscard]] std::uint64_t n() const { return plan.request().n; }
    [[nodiscard]] std::uint32_t block() const { return plan.launch().block; }

    template <int TeamWarps>
    [[nodiscard]] std::size_t shared_bytes() const {
        static_assert(Partial::Order::tile % (max_block / (warp_size * TeamWarps)) == 0, "a turn would cross a group");
        constexpr std::size_t of_team =
            std::max(sizeof(BufferOf<InputLevel<T, Acc, true>, TeamWarps>), sizeof(BufferOf<Partial, TeamWarps>));
        return of_team * (block() / (warp_size * TeamWarps));
    }

    /// Turns that a level of `tiles` tiles takes.
    template <int TeamWarps>
    [[nodiscard]] std::uint64_t turns(std::uint64_t tiles) const {
        return spec::tiles(tiles, block() / (warp_size * TeamWarps));
    }

    [[nodiscard]] std::uint32_t grid(std::uint64_t turns) const {
        const std::uint64_t most = plan.launch().grid ? plan.launch().grid : 0x7fffffffu;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(turns, 1, most));
    }

    enum class Kind { plain, cooperative, after_previous };

    template <class... Parameters, class... Arguments>
    [[nodiscard]] Status launch(Kind kind, void (*kernel)(Parameters...), std::uint32_t blocks, std::size_t shared,
                                const Arguments&... arguments) const {
        cudaLaunchAttribute attribute{};
        if (kind == Kind::cooperative) {
            attribute.id = cudaLaunchAttributeCooperative;
            attribute.val.cooperative = 1;
        } else {
            attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attribute.val.programmaticStreamSerializationAllowed = 1;
        }
        cudaLaunchConfig_t config{};
        config.gridDim = blocks;
        config.blockDim = block();
        config.dynamicSmemBytes = shared;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = kind == Kind::plain ? 0 : 1;
        return from_cuda("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, kernel, arguments...));
    }

    /// Was `kernel` compiled with its wait for the kernel before it? Not when it is older code, translated for a newer device.
    template <class Kernel>
    [[nodiscard]] bool waits_for_previous(Kernel kernel) const {
        cudaFuncAttributes attributes{};
        return device.dependent_launch && cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
               attributes.ptxVersion >= 90;
    }

    /// Blocks of `kernel` that the device holds at once.
    template <class Kernel>
    [[nodiscard]] Status count_resident(Kernel kernel, std::size_t shared, std::uint32_t& blocks) const {
        int per_sm = 0;
        const Status status =
            from_cuda("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, block(), shared));
        blocks = static_cast<std::uint32_t>(per_sm) * device.sms;
        return status;
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status two_pass() const {
        const std::size_t shared = shared_bytes<TeamWarps>();
        std::uint64_t all = turns<TeamWarps>(levels.tiles[0]);
        Status status =
            launch(Kind::plain, level_kernel<Level, TeamWarps, LevelsOf>, grid(all), shared, x, n(), all, levels);
        for (int l = 0; status.ok() && l + 1 < max_levels && levels.tiles[l] > 1; ++l) {
            all = turns<TeamWarps>(levels.tiles[l + 1]);
            const Acc* const items = levels.partials[l];
            const auto kernel = level_kernel<Partial, TeamWarps, LevelsOf>;
            status = launch(waits_for_previous(kernel) ? Kind::after_previous : Kind::plain, kernel, grid(all), shared,
                            items, levels.tiles[l], all, levels.from(l + 1));
        }
        return status;
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status last_block() const {
        if (levels.tiles[0] > 1) {
            const Status zeroed = from_cuda("cudaMemsetAsync", cudaMemsetAsync(counters, 0, counter_bytes, stream));
            if (!zeroed.ok()) return zeroed;
        }
        const auto kernel = last_block_kernel<Level, Partial, TeamWarps, LevelsOf>;
        std::uint32_t resident = 0;
        const Status counted = count_resident(kernel, shared_bytes<TeamWarps>(), resident);
        if (!counted.ok()) return counted;
        const std::uint64_t all = turns<TeamWarps>(levels.tiles[0]);
        const std::uint32_t blocks = plan.launch().grid ? grid(all) : std::min(grid(all), resident);
        return launch(Kind::plain, kernel, blocks, shared_bytes<TeamWarps>(), x, n(), all, levels);
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status cooperative() const {
        const auto kernel = cooperative_kernel<Level, Partial, TeamWarps, LevelsOf>;
        std::uint32_t resident = 0;
        const Status counted = count_resident(kernel, shared_bytes<TeamWarps>(), resident);
        if (!counted.ok()) return counted;
        const std::uint64_t all = turns<TeamWarps>(levels.tiles[0]);
        const std::uint32_t blocks = std::min(grid(all), resident); // more could never meet at the barrier
        return launch(Kind::cooperative, kernel, blocks, shared_bytes<TeamWarps>(), x, n(), all, levels);
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status tree() const {
        switch (plan.launch().schedule) {
        case Schedule::last_block:
            return last_block<Level, TeamWarps>();
        case Schedule::cooperative:
            return cooperative<Level, TeamWarps>();
        default:
            return two_pass<Level, TeamWarps>();
        }
    }

    template <class Level>
    [[nodiscard]] Status atomic() const {
        const Status zeroed = from_cuda("cudaMemsetAsync", cudaMemsetAsync(levels.out, 0, sizeof(T), stream));
        if (!zeroed.ok()) return zeroed;
        const std::uint64_t chunks = spec::tiles(n(), Level::Order::chunk);
        const std::uint64_t useful =
            std::min<std::uint64_t>(spec::tiles(chunks, block() / warp_size), 16ull * device.sms);
        return launch(Kind::plain, atomic_kernel<Level>, grid(useful), 0, x, n(), levels.out);
    }

    template <bool Aligned>
    [[nodiscard]] Status run() const {
        using Level = InputLevel<T, Acc, Aligned>;
        if (plan.request().method == Method::atomic) return atomic<Level>();
        return block() < 256 ? tree<Level, 4>() : tree<Level, 8>();
    }
};

template <class T>
Status launch_flat(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                   const DeviceTraits& device) {
    const FlatLaunch<T, acc::Rounded<T>> flat(plan, x, out, workspace, stream, device);
    const bool aligned = reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
    return aligned ? flat.template run<true>() : flat.template run<false>();
}

} // namespace detreduce::cuda
