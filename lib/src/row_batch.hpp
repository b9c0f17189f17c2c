// Rows that are reduced: losses to one number, and gradients that are divided by the weights of all rows (lib/SPEC.md, section 17.5). Made of a plan for the rows,
// a plan for sums and a quotient, so that CPU and GPU do the same.
#pragma once

#include <cstddef>

#include <detreduce/row_ops.hpp>

namespace detreduce {

[[nodiscard]] constexpr bool is_gradient(RowOp op) {
    return op == RowOp::cross_entropy_gradient || op == RowOp::nll_gradient;
}
/// Is there more to do than each row? (The gradient of a sum is that of each row's loss.)
[[nodiscard]] constexpr bool is_batch(const RowRequest& r) {
    return r.reduction == Reduction::mean || (r.reduction == Reduction::sum && !is_gradient(r.op));
}

/// What there is of a batch: the request for its rows, and byte offsets in the workspace. Losses and weights are a row each of a matrix, for one plan.
struct RowBatch {
    RowRequest all, rows;
    std::size_t pitch, sums, factor, rest, bytes = 0;
    Status status;

    /// `request` has been checked, but for the method.
    explicit RowBatch(const RowRequest& request) noexcept;
    /// The sums of so many arrays.
    [[nodiscard]] Plan sums_plan(std::uint64_t arrays, DType output) const noexcept;
};

/// Runs a checked plan whose rows are not reduced. Of nll x and out may be null: then it is the weights that are wanted.
[[nodiscard]] Status run_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept;
/// Runs a checked batch.
[[nodiscard]] Status run_batch(const RowPlan& plan, const RowArrays& arrays, char* workspace, Stream stream) noexcept;

} // namespace detreduce
