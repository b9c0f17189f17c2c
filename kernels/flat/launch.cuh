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
    std::uint32_t fine_tiles;
    LevelsOf levels;
    std::uint32_t* counters;
    std::size_t counter_bytes;

    FlatLaunch(const Plan& p, const void* input, void* out, void* workspace, Stream s, std::uint32_t fine)
        : plan(p), x(static_cast<const T*>(input)), stream(s), fine_tiles(fine) {
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

    [[nodiscard]] std::uint32_t block() const { return plan.launch().block; }

    template <int TeamWarps>
    [[nodiscard]] std::size_t shared_bytes() const {
        return sizeof(BufferOf<Partial, TeamWarps>) * (block() / (warp_size * TeamWarps));
    }

    template <int TeamWarps>
    [[nodiscard]] Deal deal(std::uint64_t tiles, std::uint64_t full_tiles) const {
        const std::uint32_t warps = block() / warp_size, teams = block() / (warp_size * TeamWarps);
        const std::uint64_t bulk = full_tiles > fine_tiles ? (full_tiles - fine_tiles) / warps : 0;
        return {bulk, bulk + spec::tiles(tiles - bulk * warps, teams)};
    }

    [[nodiscard]] std::uint32_t grid(std::uint64_t turns) const {
        const std::uint64_t most = plan.launch().grid ? plan.launch().grid : 0x7fffffffu;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(turns, 1, most));
    }

    template <class... Parameters, class... Arguments>
    [[nodiscard]] Status launch(void (*kernel)(Parameters...), std::uint32_t blocks, std::size_t shared, bool cooperative,
                                const Arguments&... arguments) const {
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = cooperative;
        cudaLaunchConfig_t config{};
        config.gridDim = blocks;
        config.blockDim = block();
        config.dynamicSmemBytes = shared;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = cooperative ? 1 : 0;
        return from_cuda("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, kernel, arguments...));
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status two_pass() const {
        const std::uint64_t n = plan.request().n;
        const Deal first = deal<TeamWarps>(levels.tiles[0], n / Level::Order::tile);
        const std::size_t shared = shared_bytes<TeamWarps>();
        Status status = launch(level_kernel<Level, TeamWarps, LevelsOf>, grid(first.turns), shared, false, x, n, first, levels);
        for (int l = 0; status.ok() && l + 1 < max_levels && levels.tiles[l] > 1; ++l) {
            const Deal fine = deal<TeamWarps>(levels.tiles[l + 1], 0);
            status = launch(level_kernel<Partial, TeamWarps, LevelsOf>, grid(fine.turns), shared, false,
                            const_cast<const Acc*>(levels.partials[l]), levels.tiles[l], fine, levels.from(l + 1));
        }
        return status;
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status last_block() const {
        const std::uint64_t n = plan.request().n;
        if (levels.tiles[0] > 1) {
            const Status zeroed = from_cuda("cudaMemsetAsync", cudaMemsetAsync(counters, 0, counter_bytes, stream));
            if (!zeroed.ok()) return zeroed;
        }
        const Deal first = deal<TeamWarps>(levels.tiles[0], n / Level::Order::tile);
        return launch(last_block_kernel<Level, Partial, TeamWarps, LevelsOf>, grid(first.turns), shared_bytes<TeamWarps>(), false, x,
                      n, first, levels);
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status cooperative() const {
        const std::uint64_t n = plan.request().n;
        const Deal first = deal<TeamWarps>(levels.tiles[0], n / Level::Order::tile);
        const auto kernel = cooperative_kernel<Level, Partial, TeamWarps, LevelsOf>;
        const std::size_t shared = shared_bytes<TeamWarps>();
        int per_sm = 0, device = 0, sms = 0;
        Status status = from_cuda("cudaGetDevice", cudaGetDevice(&device));
        if (status.ok()) {
            status = from_cuda("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
        }
        if (status.ok()) {
            status = from_cuda("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                               cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, block(), shared));
        }
        if (!status.ok()) return status;
        const auto resident = static_cast<std::uint32_t>(per_sm * sms); // more could never meet at the barrier
        return launch(kernel, std::min(grid(first.turns), resident), shared, true, x, n, first, levels);
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status tree() const {
        switch (plan.launch().schedule) {
        case Schedule::two_pass: return two_pass<Level, TeamWarps>();
        case Schedule::cooperative: return cooperative<Level, TeamWarps>();
        default: return last_block<Level, TeamWarps>();
        }
    }

    template <class Level>
    [[nodiscard]] Status atomic(std::uint32_t sms) const {
        const Status zeroed = from_cuda("cudaMemsetAsync", cudaMemsetAsync(levels.out, 0, sizeof(T), stream));
        if (!zeroed.ok()) return zeroed;
        const std::uint64_t chunks = spec::tiles(plan.request().n, Level::Order::chunk);
        const std::uint64_t useful = std::min<std::uint64_t>(spec::tiles(chunks, block() / warp_size), 16ull * sms);
        return launch(atomic_kernel<Level>, grid(useful), 0, false, x, plan.request().n, levels.out);
    }

    template <bool Aligned>
    [[nodiscard]] Status run(std::uint32_t sms) const {
        using Level = InputLevel<T, Acc, Aligned>;
        if (plan.request().method == Method::atomic) return atomic<Level>(sms);
        return block() < 256 ? tree<Level, 4>() : tree<Level, 8>();
    }
};

template <class T>
Status launch_flat(const Plan& plan, const void* x, void* out, void* workspace, Stream stream, const FlatTuning& tuned) {
    const FlatLaunch<T, acc::Rounded<T>> flat(plan, x, out, workspace, stream, tuned.fine_tiles);
    const bool aligned = reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
    return aligned ? flat.template run<true>(tuned.sms) : flat.template run<false>(tuned.sms);
}

} // namespace detreduce::cuda
