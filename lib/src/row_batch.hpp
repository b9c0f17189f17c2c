// Rows that are reduced: losses to one number, and gradients that are divided by the weights of all
// rows (lib/SPEC.md, section 17.5). Made of a plan for the rows, plans for sums and a quotient, so
// that CPU and GPU do the same.
#pragma once

#include <cstddef>

#include <detreduce/row_ops.hpp>

namespace detreduce {

/// Is it the gradient of a loss, which may be reduced? It has a factor.
[[nodiscard]] constexpr bool is_loss_gradient(RowOp op) {
    return op == RowOp::cross_entropy_gradient || op == RowOp::nll_gradient ||
           op == RowOp::cross_entropy_target_gradient;
}
/// Is it the gradient of a norm, which may be asked for those of scale and shift?
[[nodiscard]] constexpr bool is_norm_gradient(RowOp op) {
    return op == RowOp::layernorm_gradient || op == RowOp::rmsnorm_gradient;
}
/// Does one kernel make and add up the terms of the gradients with respect to scale and shift? Then
/// there are no plans for their sums.
[[nodiscard]] constexpr bool adds_made_terms(const RowRequest& r) {
    return r.parameters && r.method == Method::exact && r.device.backend == Backend::cuda && r.rows > 0 && r.n > 0 &&
           r.n <= max_groups / 2 && r.rows <= max_extent / 2 / r.n; // they are sums of twice as many columns
}
/// Is it a gradient that takes n numbers a row from upstream?
[[nodiscard]] constexpr bool has_wide_upstream(RowOp op) {
    return op == RowOp::softmax_gradient || op == RowOp::log_softmax_gradient || is_norm_gradient(op);
}
/// Is there more to do than each row? (The gradient of a sum is that of each row's loss.)
[[nodiscard]] constexpr bool is_batch(const RowRequest& r) {
    return r.parameters || r.reduction == Reduction::mean || (r.reduction == Reduction::sum && !is_loss_gradient(r.op));
}

/// Byte offsets in the workspace of a batch: losses and weights are a row each of a matrix.
struct BatchLayout {
    std::size_t pitch, sums, factor, rest;
    explicit BatchLayout(const RowRequest& r) noexcept;
};

/// What of a plan is for rows and batches.
struct detail::RowPlanParts {
    /// The plan of the rows of a batch, each on its own.
    [[nodiscard]] static RowPlan rows_of(const RowPlan& batch) noexcept;
    /// Makes the plans of a batch's sums; `rows`: the workspace of its rows.
    static void make_totals(RowPlan& batch, std::size_t rows) noexcept;
    /// That of the weights of the rows' targets: what nll writes beside losses, which are not asked
    /// for.
    [[nodiscard]] static RowPlan weights_of(const RowPlan& batch) noexcept;
    [[nodiscard]] static const Plan& sum_of(const RowPlan& batch) noexcept { return batch.totals_[0]; }
    /// States of the losses and, if those are `weighed`, of the weights.
    [[nodiscard]] static const Plan& states_of(const RowPlan& batch, bool weighed) noexcept {
        return batch.totals_[weighed ? 1 : 0];
    }
    /// Makes the plans of the sums over rows for the gradients of scale and shift.
    static void make_columns(RowPlan& batch, std::size_t rows) noexcept;
    [[nodiscard]] static const Plan& of_scale(const RowPlan& batch) noexcept { return batch.totals_[0]; }
    [[nodiscard]] static const Plan& of_shift(const RowPlan& batch) noexcept { return batch.totals_[1]; }
};

/// Runs a checked plan whose rows are not reduced. Of nll x and out may be null: then it is the
/// weights that are wanted. Of the gradients of norms scale_gradient, unless null, has room for the
/// terms that are summed over the rows: n numbers of plan.arithmetic() a row, next to each other.
[[nodiscard]] Status run_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept;
/// Runs a checked batch.
[[nodiscard]] Status run_batch(const RowPlan& plan, const RowArrays& arrays, char* workspace, Stream stream) noexcept;

} // namespace detreduce
