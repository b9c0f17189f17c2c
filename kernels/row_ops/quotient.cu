// The one number that a batch of losses, or the factor of its gradient, ends with.
#include <detreduce/spec/row_math.hpp>

#include "cuda_backend.hpp"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {
namespace {

__global__ void quotient_kernel(const __grid_constant__ spec::Quotient quotient) {
    quotient.write();
}

} // namespace

Status enqueue_quotient(const Device&, const spec::Quotient& quotient, Stream stream) noexcept {
    return launch_kernel(LaunchKind::plain, quotient_kernel, 1, 1, 0, stream, quotient);
}

} // namespace detreduce::cuda
