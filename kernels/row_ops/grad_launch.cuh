// Host side of gradients of row ops, for one element type.
#pragma once

#include "row_ops/grad_rows.cuh"
#include "row_ops/launch.cuh"

namespace detreduce::cuda {

template <class T>
struct RowGradLaunch : RowLaunch<T> {
    using V = fp::Arithmetic<T>;
    using RowLaunch<T>::plan, RowLaunch<T>::arrays;

    [[nodiscard]] row_kernels::GradRows<T> rows() const {
        return {RowLaunch<T>::rows(), static_cast<const T*>(arrays.upstream), upstream_stride(),
                static_cast<V*>(arrays.scale_gradient), beside_sums()};
    }
    /// May the rows begin before the kernel of launch_scale_gradient(), which was launched just
    /// before, has ended? They need no result of it. But they must not write over what it reads,
    /// nor write to the workspace, where its sums are.
    [[nodiscard]] bool beside_sums() const {
        const bool in_place = arrays.out == arrays.x || arrays.out == arrays.upstream;
        return adds_made_terms(plan.request()) && !in_place && !this->is_long();
    }
    [[nodiscard]] std::uint64_t upstream_stride() const {
        const RowRequest& r = plan.request();
        return r.upstream_stride != 0 ? r.upstream_stride : r.n;
    }
    [[nodiscard]] bool aligned() const {
        const auto at = reinterpret_cast<std::uintptr_t>(arrays.upstream);
        const RowRequest& r = plan.request();
        return RowLaunch<T>::aligned() &&
               (!has_wide_upstream(r.op) ||
                (at % 16 == 0 && (r.rows == 1 || upstream_stride() % (16 / sizeof(T)) == 0)));
    }
    template <class Op>
    [[nodiscard]] Status launch() const {
        const LaunchKind first =
            beside_sums() ? after_previous(this->device(), row_kernels::rows_kernel<Op>) : LaunchKind::plain;
        return this->template launch_each<Op>(rows(), this->warps_of_row(), first);
    }
    template <bool Aligned>
    [[nodiscard]] Status run() const {
        using namespace row_kernels;
        const RowOp op = plan.request().op;
        if (op == RowOp::cross_entropy_target_gradient) return launch<ProbabilityGradRow<T, Aligned>>();
        return row_grads::with_grad(op, [&]<class G>(G) {
            if (!this->is_long())
                return this->template with_chunk<(Aligned && G::op != RowOp::softmax_gradient)>(
                    [&](auto count) { return launch<GradRow<T, G, Aligned, false, count>>(); });
            return this->template launch_in_clusters<GradRow<T, G, Aligned, false>>(
                rows(), this->cluster_of_tiles(plan.request().n),
                [&] { return launch<GradRow<T, G, Aligned, true>>(); });
        });
    }
};

template <class T>
Status launch_row_grads(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) {
    const RowGradLaunch<T> launch{{plan, arrays, static_cast<char*>(workspace), stream}};
    return launch.aligned() ? launch.template run<true>() : launch.template run<false>();
}

} // namespace detreduce::cuda
