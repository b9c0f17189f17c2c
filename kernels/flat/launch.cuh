// Host side of the flat kernels, for one element type and accumulator: the only place that launches them. Instantiated through
// launch_sum.cuh and launch_terms.cuh.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <detreduce/acc/rounded.hpp>
#include <detreduce/acc/two_fold.hpp>

#include "cuda_error.hpp"
#include "flat/kernels.cuh"
#include "flat/launch.hpp"
#include "launch_kernel.hpp"
#include "workspace.hpp"

namespace detreduce::cuda {

template <class T, class Acc>
struct FlatLaunch {
    using Partial = PartialLevel<Acc>;
    using LevelsOf = Levels<Acc>;

    const Plan& plan;
    const T* x;
    cudaStream_t stream;
    DeviceTraits device;
    LevelsOf levels;
    std::uint32_t* counters;
    std::size_t counter_bytes;

    FlatLaunch(const Plan& p, const void* input, void* out, void* workspace, Stream s, const DeviceTraits& d)
        : plan(p), x(static_cast<const T*>(input)), stream(s), device(d) {
        const Workspace layout = workspace_layout(plan.request().dtype, sizeof(Acc), plan.request().n, plan.groups());
        auto* const base = static_cast<char*>(workspace);
        levels.results = {out,
                          plan.output(),
                          static_cast<std::uint32_t>(size_of(plan.output())),
                          info(plan.request().op).ending,
                          plan.request().op,
                          plan.request().ddof};
        levels.n = plan.request().n;
        levels.rows = plan.groups();
        levels.stride = plan.stride();
        for (int l = 0; l < max_levels; ++l) {
            levels.tiles[l] = layout.tiles[l];
            levels.pitch[l] = layout.pitch[l];
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

    /// Turns that a level of `tiles` tiles, of each row, takes.
    template <int TeamWarps>
    [[nodiscard]] std::uint64_t turns(std::uint64_t tiles) const {
        return spec::tiles(levels.rows * tiles, block() / (warp_size * TeamWarps));
    }

    [[nodiscard]] std::uint32_t grid(std::uint64_t turns) const {
        const std::uint64_t most = plan.launch().grid ? plan.launch().grid : 0x7fffffffu;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(turns, 1, most));
    }

    template <class... Parameters, class... Arguments>
    [[nodiscard]] Status launch(LaunchKind kind, void (*kernel)(Parameters...), dim3 blocks, std::size_t shared,
                                const Arguments&... arguments) const {
        return launch_kernel(kind, kernel, blocks, block(), shared, stream, arguments...);
    }

    /// Blocks of `kernel` that the device holds at once.
    template <class Kernel>
    [[nodiscard]] Status count_resident(Kernel kernel, std::size_t shared, std::uint32_t& blocks) const {
        return cuda::count_resident(kernel, block(), shared, device, blocks);
    }

    /// `input`: what Level reads.
    template <class Level, int TeamWarps>
    [[nodiscard]] Status two_pass(const typename Level::Pointer& input) const {
        const std::size_t shared = shared_bytes<TeamWarps>();
        const std::uint64_t all = turns<TeamWarps>(levels.tiles[0]);
        const Status status = launch(LaunchKind::plain, level_kernel<Level, TeamWarps, LevelsOf>, grid(all), shared,
                                     input, n(), all, levels);
        return status.ok() ? upper_levels<TeamWarps>() : status;
    }

    /// From the results of the tiles of the input to the root.
    template <int TeamWarps>
    [[nodiscard]] Status upper_levels() const {
        Status status;
        for (int l = 0; status.ok() && l + 1 < max_levels && levels.tiles[l] > 1; ++l) {
            const std::uint64_t all = turns<TeamWarps>(levels.tiles[l + 1]);
            const Acc* const items = levels.partials[l];
            const auto kernel = level_kernel<Partial, TeamWarps, LevelsOf>;
            const bool short_rows = levels.tiles[l] <= most_short_rows * Partial::Order::lanes; // a warp each
            const std::uint64_t blocks = short_rows ? spec::tiles(levels.rows, block() / warp_size) : all;
            status = launch(after_previous(device, kernel), kernel, grid(blocks), shared_bytes<TeamWarps>(), items,
                            levels.tiles[l], all, levels.from(l + 1));
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
        return launch(LaunchKind::plain, kernel, blocks, shared_bytes<TeamWarps>(), x, n(), all, levels);
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status cooperative() const {
        const auto kernel = cooperative_kernel<Level, Partial, TeamWarps, LevelsOf>;
        std::uint32_t resident = 0;
        const Status counted = count_resident(kernel, shared_bytes<TeamWarps>(), resident);
        if (!counted.ok()) return counted;
        const std::uint64_t all = turns<TeamWarps>(levels.tiles[0]);
        const std::uint32_t blocks = std::min(grid(all), resident); // more could never meet at the barrier
        return launch(LaunchKind::cooperative, kernel, blocks, shared_bytes<TeamWarps>(), x, n(), all, levels);
    }

    template <class Level, int TeamWarps>
    [[nodiscard]] Status tree() const {
        switch (plan.launch().schedule) {
        case Schedule::last_block:
            return last_block<Level, TeamWarps>();
        case Schedule::cooperative:
            return cooperative<Level, TeamWarps>();
        default:
            return two_pass<Level, TeamWarps>(x);
        }
    }

    [[nodiscard]] static bool aligned(const T* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }
    [[nodiscard]] bool aligned() const { return aligned(x); }

    template <bool Aligned>
    [[nodiscard]] Status run_tree() const {
        using Level = InputLevel<T, Acc, Aligned>;
        return block() < 256 ? tree<Level, 4>() : tree<Level, 8>();
    }
    [[nodiscard]] Status run() const { return aligned() ? run_tree<true>() : run_tree<false>(); }

    /// x and `y` as Level reads them.
    template <class Level>
    [[nodiscard]] typename Level::Pointer input(const T* y) const {
        return Level::Items::pointer(x, y, aligned() && aligned(y));
    }

    /// Whether 16-bit elements have a kernel of their own that knows them to be aligned. Two-fold sums are slow enough without.
    static constexpr bool knows_alignment = fp::has_16_bits<T> && !Acc::keeps_errors;

    /// The terms of an op, of x and `y`; prepare() has seen to blocks of 256.
    template <class Map>
    [[nodiscard]] Status run_terms(const T* y) const {
        if constexpr (knows_alignment) {
            using Level = TermLevel<T, Acc, Map, Alignment::known>;
            if (aligned() && aligned(y)) return two_pass<Level, 8>(input<Level>(y));
        }
        using Level = TermLevel<T, Acc, Map>;
        return two_pass<Level, 8>(input<Level>(y));
    }

    /// The sum meets in `out` itself, or in the workspace if `out` is of another dtype.
    template <bool Aligned>
    [[nodiscard]] Status run_atomic_from(typename Acc::Value* sum) const {
        using Level = InputLevel<T, Acc, Aligned>;
        const std::uint64_t chunks = spec::tiles(n(), Level::Order::chunk);
        const std::uint64_t useful =
            std::min<std::uint64_t>(spec::tiles(chunks, block() / warp_size), 16ull * device.sms);
        return launch(LaunchKind::plain, atomic_kernel<Level>, grid(useful), 0, x, n(), sum);
    }
    [[nodiscard]] Status run_atomic(void* workspace) const {
        using Value = typename Acc::Value;
        const bool in_place = plan.output() == dtype_of<Value>;
        auto* const sum = static_cast<Value*>(in_place ? levels.results.out : workspace);
        const Status zeroed = from_cuda("cudaMemsetAsync", cudaMemsetAsync(sum, 0, sizeof(Value), stream));
        if (!zeroed.ok()) return zeroed;
        const Status added = aligned() ? run_atomic_from<true>(sum) : run_atomic_from<false>(sum);
        if (!added.ok() || in_place) return added;
        const Value* const from = sum;
        return launch(LaunchKind::plain, finish_kernel<Acc>, 1, 0, from, levels.results.out, plan.output());
    }
};

} // namespace detreduce::cuda
