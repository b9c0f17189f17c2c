// From a plan of row ops to the launch of its element type.
#include <algorithm>

#include "cuda_backend.hpp"
#include "platform/cuda_error.hpp"
#include "row_ops/rows.hpp"

namespace detreduce::cuda {

RowWorkspace RowWorkspace::of(const RowRequest& r, const Plan& sums) {
    RowWorkspace w{};
    if (r.rows == 0 || r.op == RowOp::nll || r.op == RowOp::nll_gradient) return w;
    if (has_sums(r.op)) {
        w.for_sums = (r.rows * size_of(arithmetic_of(r.dtype)) + 255) / 256 * 256;
        w.partials = w.for_sums + (sums.workspace_bytes() + 255) / 256 * 256;
    }
    const std::uint64_t blocks = std::min<std::uint64_t>(r.rows, policy::long_row_blocks);
    const std::size_t item = size_of(arithmetic_of(r.dtype)) * (r.op == RowOp::layernorm ? 2u : 1u);
    w.bytes = w.partials + blocks * long_row_pitch(r.dtype, r.n) * item;
    return w;
}

std::size_t row_workspace_bytes(const RowRequest& r, const Plan& sums) noexcept {
    return RowWorkspace::of(r, sums).bytes;
}

Status enqueue_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream) noexcept {
    const RowRequest& r = plan.request();
    if (r.n == 0 && r.op != RowOp::logsumexp) return {};
    const DeviceTraits& device = detail::route_of(detail::sums_of(plan)).device;
    return with_dtype_from_16_bits(r.dtype,
                                   [&]<class T>(T) { return launch_rows<T>(plan, arrays, workspace, stream, device); });
}

} // namespace detreduce::cuda
