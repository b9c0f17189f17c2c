// math.hpp on the GPU behind a call, so that nvcc compiles the kernels and nothing of the tests.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include <detreduce/math/functions.hpp>

namespace detreduce::proptests {

/// y[i] = f(x[i]) for i < n, both in device memory, on the default stream. Does not wait.
cudaError_t evaluate_on_gpu(math::Function f, const float* x, float* y, std::uint64_t n);
cudaError_t evaluate_on_gpu(math::Function f, const double* x, double* y, std::uint64_t n);

} // namespace detreduce::proptests
