// Host side of row ops, for one element type.
#pragma once

#include <algorithm>
#include <bit>

#include "platform/launch_kernel.hpp"
#include "row_batch.hpp"
#include "row_ops/known_rows.cuh"
#include "row_ops/nll_rows.cuh"
#include "row_ops/norm_rows.cuh"

namespace detreduce::cuda {

template <class T>
struct RowLaunch {
    using V = fp::Arithmetic<T>;
    const RowPlan& plan;
    const RowArrays& arrays;
    char* workspace;
    Stream stream;

    [[nodiscard]] Rows<T> rows() const {
        using Order = spec::TreeOrder<sizeof(T)>;
        const RowRequest& r = plan.request();
        Rows<T> a{};
        a.x = static_cast<const T*>(arrays.x);
        a.out = arrays.out;
        a.rows = r.rows;
        a.n = r.n;
        a.stride = plan.stride();
        a.out_stride = plan.output_stride();
        a.tiles = spec::tiles(r.n, Order::tile);
        a.partials = reinterpret_cast<V*>(workspace);
        a.pitch = long_row_pitch(r.dtype, r.n) * numbers_of_item(r.op);
        a.output = plan.output();
        a.entropy = r.op == RowOp::cross_entropy;
        a.scale = static_cast<const T*>(arrays.scale);
        a.shift = static_cast<const T*>(arrays.shift);
        a.weights = static_cast<const T*>(arrays.weights);
        a.mean = static_cast<V*>(arrays.mean);
        a.rstd = static_cast<V*>(arrays.rstd);
        a.row_weights = static_cast<V*>(arrays.row_weights);
        a.exp_sums = static_cast<V*>(arrays.exp_sums);
        a.own_factors = arrays.upstream != nullptr && !has_wide_upstream(r.op);
        a.factor = static_cast<const V*>(a.own_factors ? arrays.upstream : arrays.factor);
        a.targets = arrays.targets;
        a.probabilities = static_cast<const T*>(arrays.probabilities);
        a.probability_stride = r.probability_stride != 0 ? r.probability_stride : r.n;
        a.ignore_index = r.ignore_index;
        a.epsilon = r.epsilon;
        a.smoothed = spec::SmoothedTarget<V>::of(r.label_smoothing, std::max<std::uint64_t>(r.n, 1));
        a.z_loss = static_cast<V>(r.z_loss);
        a.all_classes = a.smoothed.at_all != 0 || a.probabilities != nullptr || a.z_loss != 0;
        return a;
    }

    /// May every array be read and written 16 bytes at a time, a whole number of them a row?
    [[nodiscard]] bool aligned() const {
        const auto on_16 = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
        const RowRequest& r = plan.request();
        constexpr std::uint64_t each = 16 / sizeof(T);
        const bool input = on_16(arrays.x) && r.n % each == 0 && (r.rows == 1 || plan.stride() % each == 0);
        if (is_of_sum(r.op)) return input;
        return input && on_16(arrays.scale) && on_16(arrays.shift) && on_16(arrays.out) &&
               (r.rows == 1 || plan.output_stride() % each == 0);
    }

    /// A team a row. `more`: what Op is told beside the rows.
    template <class Op, class... More>
    [[nodiscard]] Status launch(const More&... more) const {
        return launch_each<Op>(typename Op::Arguments{rows(), more...}, warps_of_row());
    }
    [[nodiscard]] std::uint32_t warps_of_row() const {
        const std::uint64_t chunks = spec::tiles(plan.request().n, spec::TreeOrder<sizeof(T)>::chunk);
        return std::bit_ceil(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(chunks, 1, row_kernels::most_warps)));
    }
    [[nodiscard]] DeviceTraits device() const { return detail::route_of(detail::sums_of(plan)).device; }
    /// Of one launch: blocks beyond have a wrong number of their cluster, %clusterid, which ptxas
    /// of CUDA 13.0 works out as a float.
    static constexpr std::uint64_t most_blocks = std::uint64_t{1} << 24;
    /// Shared memory of a team; that of the next one begins at 16 bytes.
    template <class Op>
    [[nodiscard]] static std::uint32_t team_bytes(std::uint32_t warps, bool has_levels) {
        return static_cast<std::uint32_t>((Op::Memory::bytes(warps, has_levels) + 15) / 16 * 16);
    }
    /// More than a kernel has unasked. Where the device does not have it, launching fails.
    template <class Kernel>
    static void ask_for_shared(Kernel kernel, std::size_t bytes) {
        if (bytes > std::size_t{48} << 10) (void)allow_shared(kernel, bytes);
    }
    struct ClusterShape {
        std::uint32_t blocks, warps; ///< of a block
        [[nodiscard]] std::uint32_t all() const { return blocks * warps; }
    };
    /// A block a tile.
    [[nodiscard]] static ClusterShape cluster_of_tiles(std::uint64_t n) {
        return {static_cast<std::uint32_t>(spec::tiles(n, spec::TreeOrder<sizeof(T)>::tile)), row_kernels::most_warps};
    }
    /// A warp a chunk, as few of them as possible without one: of 25 chunks five blocks of five
    /// warps, where blocks of eight would have seven to spare.
    [[nodiscard]] static ClusterShape cluster_of_chunks(std::uint64_t n) {
        const auto chunks = static_cast<std::uint32_t>(spec::tiles(n, spec::TreeOrder<sizeof(T)>::chunk));
        ClusterShape best = cluster_of_tiles(n);
        const std::uint32_t most =
            best.blocks <= policy::portable_cluster ? policy::portable_cluster : policy::most_row_cluster;
        for (std::uint32_t warps = row_kernels::most_warps; warps > row_kernels::most_warps / 2; --warps) {
            const ClusterShape shape{(chunks + warps - 1) / warps, warps};
            if (shape.blocks <= most && shape.all() < best.all()) best = shape;
        }
        return best;
    }
    /// A cluster a row, if the device has such clusters, or else `other`.
    template <class Op, class Other>
    [[nodiscard]] Status launch_in_clusters(typename Op::Arguments a, const ClusterShape& shape,
                                            const Other& other) const {
        if (!device().clusters || a.tiles > policy::most_row_cluster) return other();
        const auto kernel = row_kernels::rows_kernel<Op>;
        const std::uint32_t bytes = team_bytes<Op>(shape.warps, true);
        const dim3 threads(shape.warps * warp_size);
        a.ahead = rows_at_once<Op>(shape.all());
        ask_for_shared(kernel, bytes);
        if (!has_clusters(shape.blocks, kernel, threads, bytes)) return other();
        do {
            const std::uint64_t of_launch = std::min<std::uint64_t>(a.rows - a.first_row, most_blocks / shape.blocks);
            const dim3 blocks(static_cast<std::uint32_t>(of_launch) * shape.blocks);
            const Status bad = launch_clusters(shape.blocks, kernel, blocks, threads, bytes, stream, a, bytes);
            if (!bad.ok()) return bad;
            a.first_row += of_launch;
        } while (a.first_row < a.rows);
        return {};
    }
    /// About as many rows as the device works on at once, of so many warps each.
    template <class Op>
    [[nodiscard]] std::uint64_t rows_at_once(std::uint32_t warps) const {
        return std::max<std::uint64_t>(
            std::uint64_t{device().sms} * static_cast<std::uint32_t>(Op::blocks) * row_kernels::most_warps / warps, 1);
    }
    /// `first`: of the first launch, where there are several.
    template <class Op>
    [[nodiscard]] Status launch_each(typename Op::Arguments a, std::uint32_t warps,
                                     LaunchKind first = LaunchKind::plain) const {
        const std::uint32_t teams = warps < row_kernels::block_warps ? row_kernels::block_warps / warps : 1;
        const std::uint32_t bytes = team_bytes<Op>(warps, a.tiles > 1 && Op::repeats);
        if (!Op::repeats) a.ahead = rows_at_once<Op>(warps);
        const std::uint64_t most = Op::repeats && a.tiles > 1 ? policy::long_row_blocks : most_blocks;
        ask_for_shared(row_kernels::rows_kernel<Op>, teams * bytes);
        do {
            const std::uint64_t blocks = std::min((a.rows - a.first_row + teams - 1) / teams, most);
            const Status bad = launch_kernel(first, row_kernels::rows_kernel<Op>, static_cast<std::uint32_t>(blocks),
                                             dim3(warps * warp_size, teams), teams * bytes, stream, a, bytes);
            if (Op::repeats || !bad.ok()) return bad;
            a.first_row += blocks * teams;
            first = LaunchKind::plain;
        } while (a.first_row < a.rows);
        return {};
    }
    template <bool Aligned>
    [[nodiscard]] Status run() const {
        using namespace row_kernels;
        switch (plan.request().op) {
        case RowOp::logsumexp:
        case RowOp::cross_entropy:
            return run_sums<Aligned>();
        case RowOp::softmax:
            return run_exp<RowOp::softmax, Aligned>();
        case RowOp::log_softmax:
            return run_exp<RowOp::log_softmax, Aligned>();
        case RowOp::cross_entropy_gradient:
        case RowOp::logsumexp_gradient:
            return run_exp_gradient<Aligned>();
        case RowOp::layernorm:
            return run_layernorm<Aligned>();
        case RowOp::rmsnorm:
            return run_norm<RmsNormBlock, Aligned>();
        case RowOp::nll_gradient:
            return launch<NllGradient<T>>();
        default: // the others do not come here
            return {};
        }
    }
    [[nodiscard]] bool is_long() const { return plan.request().n > spec::TreeOrder<sizeof(T)>::tile; }
    /// Does a multiprocessor hold as many blocks of Op as it is for?
    template <class Op>
    [[nodiscard]] bool fits() const {
        const auto kernel = row_kernels::rows_kernel<Op>;
        const std::uint32_t bytes = team_bytes<Op>(row_kernels::most_warps, true);
        std::uint32_t resident = 0;
        return allow_shared(kernel, bytes) &&
               count_resident(kernel, row_kernels::most_warps * warp_size, bytes, device(), resident).ok() &&
               resident >= static_cast<std::uint32_t>(Op::blocks) * device().sms;
    }
    template <RowOp Op, bool Aligned, bool InCluster, bool Sharing = false>
    using Exp = row_kernels::ShortExpRow<T, Op, Aligned, spec::rows_per_chunk, Sharing, InCluster>;
    /// Of softmax and its like, and of the gradient of cross entropy, of one class a row.
    template <RowOp Op, bool Aligned>
    [[nodiscard]] Status run_exp() const {
        const auto long_way = [&] {
            if constexpr (Op == RowOp::log_softmax) return launch<row_kernels::LongExpRow<T, Op, Aligned>>();
            return run_by_sums<Aligned>();
        };
        const ClusterShape chunks = cluster_of_chunks(plan.request().n);
        if constexpr (fp::has_16_bits<T> && Op != RowOp::log_softmax) {
            using Long = Exp<Op, Aligned, true, true>;
            if (is_long() && fits<Long>()) return launch_in_clusters<Long>(rows(), chunks, long_way);
        }
        if constexpr (fp::has_16_bits<T> && Op == RowOp::cross_entropy_gradient) {
            using Short = Exp<Op, Aligned, false, true>;
            const bool wins = !is_long() && plan.request().n > spec::TreeOrder<sizeof(T)>::chunk;
            if (wins && fits<Short>()) return launch<Short>();
        }
        return is_long() ? launch_in_clusters<Exp<Op, Aligned, true>>(rows(), chunks, long_way)
                         : run_short_exp<Op, Aligned>();
    }
    /// Of at most a tile.
    template <RowOp Op, bool Aligned>
    [[nodiscard]] Status run_short_exp() const {
        return with_chunk<Aligned>(
            [&](auto count) { return launch<row_kernels::ShortExpRow<T, Op, Aligned, count>>(); });
    }
    /// The gradients of cross entropy, with respect to x, and of logsumexp.
    template <bool Aligned>
    [[nodiscard]] Status run_exp_gradient() const {
        const RowRequest& r = plan.request();
        const bool adds_classes =
            arrays.probabilities != nullptr || (arrays.weights != nullptr && r.label_smoothing != 0);
        if (adds_classes) return launch<row_kernels::LongExpRow<T, RowOp::cross_entropy_gradient, Aligned>>();
        if (arrays.exp_sums != nullptr) return run_known<Aligned>();
        // Where two passes are slower.
        const bool at_once = !fp::is_f64<T> || rows().tiles <= policy::most_grad_tiles_f64;
        return at_once && r.op == RowOp::cross_entropy_gradient && !rows().all_classes
                   ? run_exp<RowOp::cross_entropy_gradient, Aligned>()
                   : run_by_sums<Aligned>();
    }
    /// First the sums, and then the gradient by them. Softmax is the gradient of logsumexp.
    template <bool Aligned>
    [[nodiscard]] Status run_by_sums() const {
        RowArrays found = arrays;
        found.exp_sums = workspace;
        const auto launch_of = [&](void* out) {
            found.out = out;
            return RowLaunch{plan, found, workspace + found_sums_bytes(plan.request()), stream};
        };
        const Status bad = launch_of(nullptr).template run_sums<Aligned>();
        return bad.ok() ? launch_of(arrays.out).template run_known<Aligned>() : bad;
    }
    template <bool Aligned>
    [[nodiscard]] Status run_known() const {
        return with_chunk<Aligned>([&](auto count) {
            using Op = row_kernels::KnownExpRow<T, Aligned, count>;
            return launch_of_chunks<Op>(chunk_rows());
        });
    }
    [[nodiscard]] row_kernels::ChunkRows<T> chunk_rows() const {
        const RowRequest& r = plan.request();
        return {rows(), spec::tiles(r.n, spec::TreeOrder<sizeof(T)>::chunk), r.rows};
    }
    /// `each`: chunks that a warp has, about, where there are many.
    template <class Op>
    [[nodiscard]] Status launch_of_chunks(row_kernels::ChunkRows<T> a, std::uint32_t each = 1) const {
        a.rows = spec::tiles(a.rows * a.chunks, a.rows * a.chunks < policy::fewest_chunks_apart ? 1 : each);
        return launch_each<Op>(a, 1);
    }
    /// f(the rows of lanes of a chunk). Of 16-bit elements, a row of no more than half of them
    /// leaves registers for more warps so.
    template <bool Aligned, class F>
    [[nodiscard]] Status with_chunk(const F& f) const {
        if constexpr (fp::has_16_bits<T> && Aligned) {
            constexpr int half = spec::rows_per_chunk / 2;
            if (plan.request().n <= half * spec::TreeOrder<sizeof(T)>::lanes)
                return f(std::integral_constant<int, half>{});
        }
        return f(std::integral_constant<int, spec::rows_per_chunk>{});
    }
    template <template <class, bool, int, bool> class Block, bool Aligned, class... More>
    [[nodiscard]] Status run_norm(const More&... more) const {
        using namespace row_kernels;
        if (!is_long())
            return with_chunk<Aligned>(
                [&](auto count) { return launch<NormRow<Block<T, Aligned, count, false>, false>>(more...); });
        constexpr int whole = spec::rows_per_chunk;
        return launch_in_clusters<NormRow<Block<T, Aligned, whole, true>, false>>(
            {rows(), more...}, cluster_of_tiles(plan.request().n),
            [&] { return launch<NormRow<Block<T, Aligned, whole, false>, true>>(more...); });
    }
    template <bool Aligned>
    [[nodiscard]] Status run_layernorm() const {
        using namespace row_kernels;
        using Order = spec::TreeOrder<sizeof(T)>;
        const std::uint64_t n = plan.request().n, before = n == 0 ? 0 : (n - 1) / Order::tile * Order::tile;
        const auto of = [](std::uint64_t m) {
            return MergeWeights<V>::template of<Order::lanes>(static_cast<std::uint32_t>(m));
        };
        return run_norm<LayerNormBlock, Aligned>(of(n - before), of(Order::tile));
    }
    /// logsumexp and cross entropy. A kernel adds up chunks, and a second one finishes the rows; or
    /// one kernel does both, where a second launch would take longer than it saves.
    template <bool Aligned>
    [[nodiscard]] Status run_sums() const {
        using namespace row_kernels;
        ChunkRows<T> of = chunk_rows();
        const bool all_classes = of.entropy && of.all_classes;
        if (all_classes && !is_long()) return launch<LongExpRow<T, RowOp::logsumexp, Aligned>>();
        if (chunk_sum_numbers(plan.request()) == 0) return run_short_exp<RowOp::logsumexp, Aligned>();
        of.sums = reinterpret_cast<ChunkSum<V>*>(of.partials + of.rows * of.pitch);
        const Status bad = launch_of_chunks<ExpChunks<T, Aligned>>(of, policy::chunks_of_warp<T>);
        if (!bad.ok()) return bad;
        if (all_classes || of.tiles > warp_size) return launch_each<ExpRowOfTiles<T>>(of, most_warps);
        of.log_tiles = spec::ceil_log2(of.tiles);
        of.rows = spec::tiles(of.rows << of.log_tiles, most_warps * warp_size);
        return launch_each<ExpRowsOfFewTiles<T>>(of, most_warps,
                                                 after_previous(device(), rows_kernel<ExpRowsOfFewTiles<T>>));
    }
};

template <class T>
Status launch_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) {
    const RowLaunch<T> launch{plan, arrays, static_cast<char*>(workspace), stream};
    if (plan.request().op == RowOp::nll)
        return for_each(plan.request().rows, row_kernels::Nll<T>{launch.rows()}, stream);
    return launch.aligned() ? launch.template run<true>() : launch.template run<false>();
}

} // namespace detreduce::cuda
