// The names that kernels have for what cuda_scope.hpp says of the CUDA runtime.
#pragma once

#include <detreduce/cuda_scope.hpp>

namespace detreduce::cuda {

using detail::DeviceScope;

[[nodiscard]] inline Status from_cuda(const char* call, cudaError_t error) noexcept {
    return detail::status_of(call, error);
}

} // namespace detreduce::cuda
