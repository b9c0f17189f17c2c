// From a plan of row ops to the launch of its element type.
#include <algorithm>

#include "cuda_backend.hpp"
#include "multiset/exact/launch.hpp"
#include "row_batch.hpp"
#include "row_ops/rows.hpp"

namespace detreduce::cuda {

std::size_t row_workspace_bytes(const RowRequest& r, const Plan&) noexcept {
    if (r.rows == 0 || r.op == RowOp::nll || r.op == RowOp::nll_gradient) return 0;
    // Where a row's result is one number, the chunks of all rows are added up before the first row
    // is finished.
    const std::size_t sums = found_sums_bytes(r), number = size_of(arithmetic_of(r.dtype));
    const std::uint64_t pitch = long_row_pitch(r.dtype, r.n) * numbers_of_item(r.op);
    const std::size_t rows = is_of_sum(r.op) || sums > 0
                                 ? sums + r.rows * (pitch + chunk_sum_numbers(r)) * number
                                 : std::min<std::uint64_t>(r.rows, policy::long_row_blocks) * pitch * number;
    return adds_made_terms(r) ? std::max(rows, exact_scale_layout(r).bytes) : rows;
}

Status enqueue_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept {
    const RowRequest& r = plan.request();
    if (r.n == 0 && r.op != RowOp::logsumexp) return {};
    const bool by_upstream = r.op >= RowOp::softmax_gradient && r.op != RowOp::logsumexp_gradient;
    return with_dtype_from_16_bits(r.dtype, [&]<class T>(T) {
        return by_upstream ? launch_row_grads<T>(plan, arrays, workspace, stream)
                           : launch_rows<T>(plan, arrays, workspace, stream);
    });
}

Status enqueue_scale_gradient(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept {
    return with_dtype_from_16_bits(
        plan.request().dtype, [&]<class T>(T) { return launch_scale_gradient<T>(plan, arrays, workspace, stream); });
}

} // namespace detreduce::cuda
