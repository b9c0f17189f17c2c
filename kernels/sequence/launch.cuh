// Host side of the kernels that reduce in a fixed order: the only place that launches the levels.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "accumulators.hpp"
#include "sequence/kernels.cuh"
#include "sequence/launch.hpp"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {

/// Warps of a block of 256 threads, and so of its team.
inline constexpr int block_warps = max_block / warp_size;

template <class Acc>
struct SequenceLaunch;

/// From the results of the tiles of the input to the root; and the levels above the work items of
/// large groups. Of the library's accumulators compiled once, in sequence/upper.cu;
/// sequence/upper.cuh has the definitions.
template <class Acc, int TeamWarps>
[[nodiscard]] Status reduce_upper_levels(const SequenceLaunch<Acc>& run);
template <class Acc>
[[nodiscard]] Status reduce_large_groups(const SequenceLaunch<Acc>& run, const WorkTable& table, Acc* results);

/// What the launches of a plan share, whatever its elements are.
template <class Acc>
struct SequenceLaunch : Run {
    Levels<Acc> levels;
    std::uint32_t* counters;
    std::size_t counter_bytes;

    explicit SequenceLaunch(const Run& run) : Run(run) {
        const Workspace layout = workspace_layout(plan.request().dtype, sizeof(Acc), plan.request().n, plan.groups());
        auto* const base = static_cast<char*>(workspace);
        levels.results = {out,
                          plan.output(),
                          static_cast<std::uint32_t>(size_of(plan.output())),
                          info(plan.request().op).finalize,
                          plan.request().op,
                          plan.request().ddof};
        levels.n = plan.request().n;
        levels.rows = plan.groups();
        const detail::Strides strides = detail::strides_of(plan.request());
        levels.stride = detail::is_across(plan.request().shape) ? strides.element : strides.group;
        levels.unit = 1;
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

    [[nodiscard]] std::uint32_t grid(std::uint64_t useful) const { return blocks(useful, 0x7fffffffu); }
    /// For so many tiles of each row.
    [[nodiscard]] dim3 grid_of_rows(std::uint64_t tiles) const {
        if (tiles == 1) return grid(levels.rows);
        const std::uint32_t across = grid(tiles);
        return {across, static_cast<unsigned>(std::min<std::uint64_t>(grid(levels.rows * across) / across, 65535))};
    }

    template <class... Parameters, class... Arguments>
    [[nodiscard]] Status launch(LaunchKind kind, void (*kernel)(Parameters...), dim3 blocks, std::size_t shared,
                                const Arguments&... arguments) const {
        return launch_kernel(kind, kernel, blocks, block(), shared, stream, arguments...);
    }

    /// Blocks of `kernel` that the device holds at once.
    template <class Kernel>
    [[nodiscard]] Status count_resident(Kernel kernel, std::size_t shared, std::uint32_t& blocks) const {
        return cuda::count_resident(kernel, block(), shared, device(), blocks);
    }

    /// As many blocks as are useful, and no more than the device holds a few times over.
    template <class Kernel, class... Arguments>
    [[nodiscard]] Status launch_resident(Kernel kernel, std::uint64_t useful, std::size_t shared,
                                         const Arguments&... arguments) const {
        std::uint32_t resident = 0;
        if (const Status bad = count_resident(kernel, shared, resident); !bad.ok()) return bad;
        const std::uint64_t blocks = std::clamp<std::uint64_t>(useful, 1, policy::times_resident * resident);
        return launch(LaunchKind::plain, kernel, grid(blocks), shared, arguments...);
    }

    /// The level whose `items` items, of each row or of all work items, Level reads at `input`.
    template <class Level, int TeamWarps>
    [[nodiscard]] Status run_level(LaunchKind kind, const typename Level::Pointer& input, std::uint64_t items,
                                   const Levels<Acc>& to, dim3 blocks, const WorkTable& table = {}) const {
        return launch(kind, level_kernel<Level, TeamWarps, Levels<Acc>>, blocks, sizeof(BufferOf<Level, TeamWarps>),
                      input, items, to, table);
    }

    /// All levels, a launch each.
    template <class Level, int TeamWarps = block_warps>
    [[nodiscard]] Status two_pass(const typename Level::Pointer& input) const {
        const Status status =
            run_level<Level, TeamWarps>(LaunchKind::plain, input, n(), levels, grid_of_rows(levels.tiles[0]));
        return status.ok() ? reduce_upper_levels<Acc, TeamWarps>(*this) : status;
    }
};

/// The same for elements of T.
template <class T, class Acc>
struct FlatLaunch : SequenceLaunch<Acc> {
    const T *x = static_cast<const T*>(this->in.x), *y = static_cast<const T*>(this->in.y);

    using SequenceLaunch<Acc>::SequenceLaunch;

    [[nodiscard]] static bool aligned(const T* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }
    [[nodiscard]] bool aligned() const { return aligned(x); }

    /// Whether 16-bit elements have a kernel of their own that knows them to be aligned. Two-fold
    /// sums are slow enough without.
    static constexpr bool knows_alignment = fp::has_16_bits<T> && !Acc::keeps_errors;
};

} // namespace detreduce::cuda
