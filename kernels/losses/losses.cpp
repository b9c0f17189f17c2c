// From the plan of a loss to the launch of its element type.
#include <cuda_runtime_api.h>

#include <detreduce/losses.hpp>

#include "cuda_backend.hpp"
#include "platform/cuda_error.hpp"

namespace detreduce::cuda {

// losses/launch.cuh, for each element type
template <class T>
[[nodiscard]] Status launch_loss(const LossPlan& plan, const LossInputs& in, void* out, void* workspace, Stream stream);

template <class T>
[[nodiscard]] Status launch_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream,
                                          const double* sums, void* dx, Stream stream);

Status enqueue_loss(const LossPlan& plan, const LossInputs& in, void* out, void* workspace, Stream stream) noexcept {
    const LossRequest& r = plan.request();
    if (r.n == 0) { // the sum of nothing, or its state: nothing else gets here
        const std::size_t bytes = r.state ? plan.plan().state_words() * sizeof(std::int64_t) : size_of(plan.output());
        return from_cuda("cudaMemsetAsync", cudaMemsetAsync(out, 0, bytes, stream));
    }
    return with_dtype_from_16_bits(r.dtype,
                                   [&]<class T>(T) { return launch_loss<T>(plan, in, out, workspace, stream); });
}

Status enqueue_loss_gradient(const LossPlan& plan, const LossInputs& in, const void* upstream, const double* sums,
                             void* dx, Stream stream) noexcept {
    return with_dtype_from_16_bits(plan.request().dtype, [&]<class T>(T) {
        return launch_loss_gradient<T>(plan, in, upstream, sums, dx, stream);
    });
}

} // namespace detreduce::cuda
