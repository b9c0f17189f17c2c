// Mean and variance of flat inputs by `exact`: other launches, one after the other.
#include <cuda_runtime_api.h>

#include "platform/cuda_error.hpp"
#include "moments/exact.hpp"
#include "moments/result.hpp"

namespace detreduce::cuda {

template <class T>
Status launch_moments_exact(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                            const DeviceTraits& device) {
    const std::uint64_t n = plan.request().n;
    const std::uint32_t grid = plan.launch().grid;
    auto* const sum = static_cast<acc::exact::Word*>(workspace);
    Status status = from_cuda("cudaMemsetAsync", cudaMemsetAsync(workspace, 0, exact_moments_workspace_bytes, stream));
    if (status.ok()) status = launch_exact_add<T>(static_cast<ExactState*>(workspace), x, n, stream, device, grid);
    if (status.ok()) status = launch_exact_squares<T>(sum + acc::exact::words, x, n, stream, device, grid);
    if (!status.ok()) return status;
    return launch_moments_finish({sum, sum + acc::exact::words, fp::is_f64<T>, 0, 0}, 1, moments_result(plan, out),
                                 stream, device);
}

template Status launch_moments_exact<float16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_moments_exact<bfloat16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_moments_exact<float>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
template Status launch_moments_exact<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);

} // namespace detreduce::cuda
