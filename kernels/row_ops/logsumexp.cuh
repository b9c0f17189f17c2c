// logsumexp and cross entropy: sums of rows, as groups/ computes them, of terms relative to 0; then a kernel that makes of each what is wanted, and computes
// again the few rows whose sum is not usable.
#pragma once

#include "sequence/launch_groups.cuh"
#include "row_ops/exp_rows.cuh"
#include "row_ops/exp_sums.cuh"

namespace detreduce::cuda {

/// Elements of rows, added as their exponentials.
template <class T, Alignment A>
struct ExpLevel {
    using V = fp::Arithmetic<T>;
    using Items = ItemOf<T, 1, A>;
    using Item = T;
    using Pointer = typename Items::Pointer;
    using Acc = acc::Rounded<V>;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = true, known_aligned = A == Alignment::known;
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& item) {
        return {spec::exp_term<T>(widen(item)).value()};
    }
    template <class X>
    static __device__ __forceinline__ void take(Acc& a, const X& item) {
        a.sum = spec::exp_term<T>(widen(item)).added_to(a.sum);
    }
    static __device__ __forceinline__ Acc of_nothing() { return {V{0}}; }
    static __device__ __forceinline__ Item identity() { return row_kernels::ExpRow<T, RowOp::logsumexp, true>::lowest; }
};

/// One row by a block, whatever it takes. Not inlined, so that its registers are not asked for where it is not run.
template <class T>
__device__ __noinline__ void finish_by_block(const Rows<T>* a, std::uint64_t row, fp::Arithmetic<T> sum,
                                             row_kernels::Shared<T>* s) {
    using Row = row_kernels::ExpRow<T, RowOp::logsumexp, false>;
    const Row block{*a, a->x + static_cast<std::int64_t>(row * a->stride), row, *s};
    block.finish(spec::usable(sum) ? Row::Sum::of(0, sum) : block.sum_at_greatest());
}

/// `sums` are those of the rows' terms. A block takes `each` rows at a time, a thread each; those that take more are then computed by all threads.
template <class T>
__global__ void __launch_bounds__(max_block, policy::finish_exp_sums.blocks)
    finish_rows_kernel(const __grid_constant__ Rows<T> a, const fp::Arithmetic<T>* sums, std::uint32_t each) {
    using Row = row_kernels::ExpRow<T, RowOp::logsumexp, false>;
    __shared__ row_kernels::Shared<T> shared;
    __shared__ bool left[max_block];
    for (std::uint64_t first = std::uint64_t{blockIdx.x} * each; first < a.rows;
         first += std::uint64_t{gridDim.x} * each) {
        const std::uint64_t row = first + threadIdx.x;
        const bool there = threadIdx.x < each && row < a.rows;
        const Row mine{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, threadIdx.x};
        bool done = !there;
        if (there && a.entropy) done = mine.without_class();
        if (!done && spec::usable(sums[row]) && !(a.entropy && a.all_classes)) {
            mine.finish_alone(Row::Sum::of(0, sums[row]));
            done = true;
        }
        left[threadIdx.x] = !done;
        if (__syncthreads_or(!done)) {
            for (std::uint32_t i = 0; i < each; ++i) {
                if (!left[i]) continue; // all threads, or none
                finish_by_block<T>(&a, first + i, sums[first + i], &shared);
                __syncthreads(); // the shared memory is used again
            }
        }
        __syncthreads();
    }
}

template <class T>
struct LogSumExpLaunch {
    using V = fp::Arithmetic<T>;
    using Acc = acc::Rounded<V>;
    const Rows<T>& rows;
    const Plan& sums_plan;
    V* sums;
    void* workspace; ///< behind the sums
    Stream stream;
    DeviceTraits device;

    template <bool Aligned>
    [[nodiscard]] Status add_halves(const FlatLaunch<T, Acc>& flat) const {
        const bool one = rows.tiles == 1;
        V* const to = one ? sums : reinterpret_cast<V*>(flat.levels.partials[0]);
        const row_kernels::ExpTiles<T> tiles{
            rows.x, rows.rows, rows.n, rows.stride, rows.tiles, to, one ? 1 : flat.levels.pitch[0]};
        const auto kernel = row_kernels::exp_sums_kernel<T, Aligned>;
        std::uint32_t resident = 0;
        if (const Status bad = flat.count_resident(kernel, 0, resident); !bad.ok()) return bad;
        const std::uint64_t blocks = spec::tiles(rows.rows * rows.tiles, max_block / warp_size);
        const Status status =
            flat.launch(LaunchKind::plain, kernel,
                        flat.grid(std::min<std::uint64_t>(blocks, policy::exp_sum_blocks * resident)), 0, tiles);
        return status.ok() && !one ? reduce_upper_levels<Acc, block_warps>(flat) : status;
    }
    template <Alignment A>
    [[nodiscard]] Status add(bool aligned) const {
        using Level = ExpLevel<T, A>;
        const FlatLaunch<T, Acc> flat(sums_plan, rows.x, sums, workspace, stream, device);
        const GroupLaunch<T, Level> launch{flat, Level::Items::pointer(rows.x, nullptr, aligned),
                                           Groups::of(sums_plan, nullptr), workspace};
        if (rows.n > Level::Order::lanes) {
            if constexpr (fp::is_narrow<T>) {
                return add_halves<A == Alignment::known>(flat);
            } else {
                return launch.run_whole();
            }
        }
        // Short rows: as many threads as have a lane for each element, or more, share one.
        constexpr std::uint32_t per_thread = Level::Order::lanes / warp_size;
        using Short = ExpLevel<T, Alignment::known>;
        std::uint32_t threads = 1;
        while (threads < warp_size && threads * per_thread < rows.n)
            threads *= 2;
        const std::uint64_t warps = spec::tiles(rows.rows, rows_in_flight<1> * (warp_size / threads));
        const std::uint64_t blocks = spec::tiles(warps, block_warps);
        if (aligned && rows.n % per_thread == 0) {
            return flat.launch_resident(short_rows_kernel<Short, 1>, blocks, 0,
                                        Short::Items::pointer(rows.x, nullptr, true), launch.groups, threads,
                                        flat.levels.results);
        }
        using Any = ExpLevel<T, Alignment::seen>;
        return flat.launch_resident(short_rows_kernel<Any, 1>, blocks, 0, Any::Items::pointer(rows.x, nullptr, false),
                                    launch.groups, threads, flat.levels.results);
    }
    [[nodiscard]] Status run() const {
        const bool aligned = reinterpret_cast<std::uintptr_t>(rows.x) % 16 == 0 && rows.stride * sizeof(T) % 16 == 0;
        Status status;
        if (rows.n > 0) {
            if constexpr (fp::is_narrow<T>) {
                status = aligned ? add<Alignment::known>(true) : add<Alignment::never>(false);
            } else {
                status = add<Alignment::seen>(aligned);
            }
        } else {
            status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(sums, 0, rows.rows * sizeof(V), stream));
        }
        if (!status.ok()) return status;
        const std::uint32_t each = rows.entropy && rows.all_classes ? 1 : rows.rows < 64 * max_block ? 32 : max_block;
        const std::uint64_t blocks = spec::tiles(rows.rows, each),
                            most = rows.tiles > 1 ? policy::long_row_blocks : 0x7fffffffu;
        return launch_kernel(LaunchKind::plain, finish_rows_kernel<T>,
                             static_cast<std::uint32_t>(std::min(blocks, most)), max_block, 0, stream, rows,
                             static_cast<const V*>(sums), each);
    }
};

} // namespace detreduce::cuda
