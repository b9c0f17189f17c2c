// Sums of elements.
#pragma once

#include "sequence/launch.cuh"

namespace detreduce::cuda {

/// By tree: with whatever schedule and block the caller asks for.
template <class T, bool Aligned, int TeamWarps>
struct TreeLaunch {
    using Acc = acc::Rounded<fp::Arithmetic<T>>;
    using Level = InputLevel<T, Acc, Aligned>;
    using Partial = PartialLevel<Acc>;
    static constexpr std::size_t shared =
        std::max(sizeof(BufferOf<Level, TeamWarps>), sizeof(BufferOf<Partial, TeamWarps>));

    const FlatLaunch<T, Acc>& flat;

    [[nodiscard]] Status run() const {
        const auto& levels = flat.levels;
        const bool in_one = flat.plan.launch().schedule == Schedule::last_block;
        if (!in_one && flat.plan.launch().schedule != Schedule::cooperative)
            return flat.template two_pass<Level, TeamWarps>(flat.x);
        if (in_one && levels.tiles[0] > 1) {
            const Status zeroed =
                from_cuda("cudaMemsetAsync", cudaMemsetAsync(flat.counters, 0, flat.counter_bytes, flat.stream));
            if (!zeroed.ok()) return zeroed;
        }
        const auto kernel = in_one ? last_block_kernel<Level, Partial, TeamWarps, Levels<Acc>>
                                   : cooperative_kernel<Level, Partial, TeamWarps, Levels<Acc>>;
        std::uint32_t resident = 0;
        if (const Status bad = flat.count_resident(kernel, shared, resident); !bad.ok()) return bad;
        std::uint32_t blocks = flat.grid(levels.tiles[0]);
        if (!in_one || flat.plan.launch().grid == 0) // more could never meet at the barrier
            blocks = std::min(blocks, resident);
        return flat.launch(in_one ? LaunchKind::plain : LaunchKind::cooperative, kernel, blocks, shared, flat.x,
                           flat.n(), levels);
    }
};

template <bool Aligned, class T, class Acc>
[[nodiscard]] Status run_atomic(const FlatLaunch<T, Acc>& flat, typename Acc::Value* sum) {
    using Level = InputLevel<T, Acc, Aligned>;
    const std::uint64_t chunks = spec::tiles(flat.n(), Level::Order::chunk);
    const std::uint64_t useful = std::min<std::uint64_t>(spec::tiles(chunks, flat.block() / warp_size),
                                                         policy::atomic_blocks * flat.device().sms);
    return flat.launch(LaunchKind::plain, atomic_kernel<Level>, flat.grid(useful), 0, flat.x, flat.n(), sum);
}

/// The sum meets in `out` itself; in the workspace if `out` is of another dtype: then it and a zero
/// are rounded as two results of tiles are.
template <class T, class Acc>
[[nodiscard]] Status run_atomic(FlatLaunch<T, Acc> flat) {
    using Value = typename Acc::Value;
    const bool in_place = flat.plan.output() == dtype_of<Value>;
    auto* const sum = static_cast<Value*>(in_place ? flat.out : flat.workspace);
    const Status zeroed =
        from_cuda("cudaMemsetAsync", cudaMemsetAsync(sum, 0, (in_place ? 1 : 2) * sizeof(Value), flat.stream));
    if (!zeroed.ok()) return zeroed;
    const Status added = flat.aligned() ? run_atomic<true>(flat, sum) : run_atomic<false>(flat, sum);
    if (!added.ok() || in_place) return added;
    flat.levels.tiles[0] = 2;
    flat.levels.tiles[1] = 1;
    flat.levels.partials[0] = reinterpret_cast<Acc*>(sum);
    return reduce_upper_levels<Acc, block_warps>(flat);
}

template <class T>
Status launch_flat(const Run& run) {
    return with_accumulator<fp::Arithmetic<T>>(run.request().method, [&]<class Acc>(const Acc*) -> Status {
        const FlatLaunch<T, Acc> flat(run);
        if constexpr (std::is_same_v<Acc, acc::Rounded<fp::Arithmetic<T>>>) { // with any schedule, and atomic
            if (run.request().method == Method::atomic) return run_atomic(flat);
            if (flat.block() < max_block)
                return flat.aligned() ? TreeLaunch<T, true, 4>{flat}.run() : TreeLaunch<T, false, 4>{flat}.run();
            return flat.aligned() ? TreeLaunch<T, true, 8>{flat}.run() : TreeLaunch<T, false, 8>{flat}.run();
        } else {
            return flat.aligned() ? flat.template two_pass<InputLevel<T, Acc, true>>(flat.x)
                                  : flat.template two_pass<InputLevel<T, Acc, false>>(flat.x);
        }
    });
}

} // namespace detreduce::cuda
