// Which launches of mean and variance there are, and those by `exact`, which are other launches one after the other.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "cuda_error.hpp"
#include "groups/groups.hpp"
#include "moments/exact.hpp"
#include "moments/result.hpp"

namespace detreduce::cuda {
namespace {

std::size_t exact_bytes(const Request& r) {
    if (r.shape == Shape::flat) return std::max(exact_moments_workspace_bytes, exact_small_workspace_bytes(r));
    return r.shape == Shape::tensors ? exact_tensors_workspace_bytes(r) : MomentGroupsLayout(r).bytes;
}

/// By tree. Columns and segments keep the numbers of elements, which follow from where a group lies in the others.
std::size_t tree_bytes(const Request& r) {
    const bool counted = r.shape == Shape::columns || r.shape == Shape::segments;
    return level_workspace_bytes(r, counted ? counted_moments_bytes(r.dtype) : 2 * (r.dtype == DType::f64 ? 8 : 4));
}

} // namespace

Status prepare_moments(const Request& r, Launch& launch, std::size_t& workspace_bytes) {
    const bool exact = r.method == Method::exact;
    if (launch.schedule != Schedule::automatic && launch.schedule != Schedule::two_pass) {
        return {StatusCode::unsupported, "launch.schedule",
                "last_block and cooperative are offered for flat sums and means; allowed for all else is two_pass"};
    }
    const std::uint32_t block = exact ? exact_block_threads : 256;
    if (launch.block != 0 && launch.block != block) {
        return {StatusCode::unsupported, "launch.block",
                "allowed for variance, stddev and moments are 128 by exact and 256 by tree, or 0"};
    }
    launch.schedule = Schedule::two_pass;
    launch.block = block;
    workspace_bytes = exact ? exact_bytes(r) : tree_bytes(r);
    return {};
}

template <class T>
Status launch_moments_exact(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                            const DeviceTraits& device) {
    if (takes_exact_small(plan)) return launch_exact_small<T>(plan, {x}, out, workspace, stream, device);
    const std::uint64_t n = plan.request().n;
    const std::uint32_t grid = plan.launch().grid;
    auto* const sum = static_cast<acc::exact::Word*>(workspace);
    Status status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(workspace, 0, exact_moments_workspace_bytes, stream));
    if (status.ok()) status = launch_exact_add<T>(static_cast<ExactState*>(workspace), x, n, stream, device, grid);
    if (status.ok()) status = launch_exact_squares<T>(sum + acc::exact::words, x, n, stream, device, grid);
    if (!status.ok()) return status;
    return launch_moments_finish({sum, sum + acc::exact::words, sizeof(T) == 8, 0, 0}, 1, moments_result(plan, out),
                                 stream, device);
}

template Status launch_moments_exact<float16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_moments_exact<bfloat16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_moments_exact<float>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_moments_exact<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);

} // namespace detreduce::cuda
