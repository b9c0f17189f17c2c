// logsumexp and cross entropy: sums of rows, as groups/ computes them, of terms relative to 0; then a kernel that makes of each what is wanted, and computes
// again the few rows whose sum is not usable.
#pragma once

#include "groups/launch.cuh"
#include "row_ops/exp_rows.cuh"

namespace detreduce::cuda {

/// Elements of rows, added as their exponentials. Within: they are not beyond where terms end.
template <class T, Alignment A, bool Within>
struct ExpElements {
    using V = fp::Arithmetic<T>;
    using Items = ItemOf<T, 1, A>;
    using Item = T;
    using Pointer = typename Items::Pointer;
    using Acc = acc::Rounded<V>;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = false, known_aligned = A == Alignment::known;
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& item) {
        return {term(widen(item)).value()};
    }
    template <class X>
    static __device__ __forceinline__ void take(Acc& a, const X& item) {
        a.sum = term(widen(item)).added_to(a.sum);
    }
    static __device__ __forceinline__ Acc of_nothing() { return {V{0}}; }
    static __device__ __forceinline__ Item absent() { return row_kernels::ExpRow<T, T, RowOp::logsumexp, true>::lowest; }

  private:
    static __device__ __forceinline__ spec::ExpTerm<V> term(V z) {
        return Within ? spec::exp_term_within<T>(z) : spec::exp_term<T>(z);
    }
};
template <class T, Alignment A>
struct ExpLevel : ExpElements<T, A, false> {};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// Two elements are brought there at once.
template <Alignment A>
struct ExpLevel<bfloat16, A> : ExpElements<bfloat16, A, false> {
    using Prepared = ExpElements<bfloat16, A, true>;
    static __device__ __forceinline__ void prepare(Pack<bfloat16, 8>& pack) { row_kernels::clamp(pack); }
};
template <Alignment A>
struct ExpLevel<float16, A> : ExpElements<float16, A, false> {
    using Prepared = ExpElements<float16, A, true>;
    static __device__ __forceinline__ void prepare(Pack<float16, 8>& pack) { row_kernels::clamp(pack); }
};
#endif

/// `sums` are those of the rows' terms. A block takes `each` rows at a time, a thread each; those that take more are then computed by all threads.
template <class T>
__global__ void __launch_bounds__(max_block)
    finish_rows_kernel(const __grid_constant__ Rows<T> a, const fp::Arithmetic<T>* sums, std::uint32_t each) {
    using Row = row_kernels::ExpRow<T, T, RowOp::logsumexp, false>;
    using Sum = typename Row::Sum;
    __shared__ row_kernels::Shared<T> shared;
    __shared__ bool left[max_block];
    for (std::uint64_t first = std::uint64_t{blockIdx.x} * each; first < a.rows;
         first += std::uint64_t{gridDim.x} * each) {
        const auto row_at = [&](std::uint64_t row, std::uint32_t writer) {
            return Row{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, writer};
        };
        const std::uint64_t row = first + threadIdx.x;
        const bool there = threadIdx.x < each && row < a.rows, usable = there && spec::usable(sums[row]);
        bool done = !there;
        if (there && a.entropy) done = row_at(row, threadIdx.x).without_class();
        if (!done && usable && (!a.entropy || a.smoothed.at_all == 0)) {
            row_at(row, threadIdx.x).finish(Sum::of(0, sums[row]));
            done = true;
        }
        left[threadIdx.x] = !done;
        if (__syncthreads_or(!done)) {
            for (std::uint32_t i = 0; i < each; ++i) {
                if (!left[i]) continue; // all threads, or none
                const Row block = row_at(first + i, 0);
                const auto sum = sums[first + i];
                block.finish(spec::usable(sum) ? Sum::of(0, sum) : block.sum_at_greatest());
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

    template <Alignment A>
    [[nodiscard]] Status add(bool aligned) const {
        using Level = ExpLevel<T, A>;
        const FlatLaunch<T, Acc> flat(sums_plan, rows.x, sums, workspace, stream, device);
        const GroupLaunch<T, Level> launch{flat, Level::Items::pointer(rows.x, nullptr, aligned),
                                           Groups::of(sums_plan, nullptr), workspace};
        if (rows.n > Level::Order::lanes) return launch.run_rows();
        // Short rows: as many threads as have a lane for each element, or more, share one.
        constexpr std::uint32_t per_thread = Level::Order::lanes / warp_size;
        using Short = ExpLevel<T, Alignment::known>;
        std::uint32_t threads = 1;
        while (threads < warp_size && threads * per_thread < rows.n)
            threads *= 2;
        const std::uint64_t warps = spec::tiles(rows.rows, rows_in_flight<1> * (warp_size / threads));
        const std::uint64_t blocks = spec::tiles(warps, launch.team);
        if (aligned && rows.n % per_thread == 0) {
            return launch.launch(short_rows_kernel<Short, 1>, blocks, 0, Short::Items::pointer(rows.x, nullptr, true),
                                 launch.groups, threads, flat.levels.results);
        }
        using Any = ExpLevel<T, Alignment::seen>;
        return launch.launch(short_rows_kernel<Any, 1>, blocks, 0, Any::Items::pointer(rows.x, nullptr, false),
                             launch.groups, threads, flat.levels.results);
    }
    [[nodiscard]] Status run() const {
        const bool aligned = reinterpret_cast<std::uintptr_t>(rows.x) % 16 == 0 && rows.stride * sizeof(T) % 16 == 0;
        Status status;
        if (rows.n > 0) {
            if constexpr (sizeof(T) == 2) {
                status = aligned ? add<Alignment::known>(true) : add<Alignment::never>(false);
            } else {
                status = add<Alignment::seen>(aligned);
            }
        } else {
            status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(sums, 0, rows.rows * sizeof(V), stream));
        }
        if (!status.ok()) return status;
        const std::uint32_t each = rows.entropy && rows.smoothed.at_all != 0 ? 1 : 32;
        const std::uint64_t blocks = spec::tiles(rows.rows, each), most = rows.tiles > 1 ? long_row_blocks : 0x7fffffffu;
        return launch_kernel(LaunchKind::plain, finish_rows_kernel<T>, static_cast<std::uint32_t>(std::min(blocks, most)),
                             max_block, 0, stream, rows, static_cast<const V*>(sums), each);
    }
};

} // namespace detreduce::cuda
