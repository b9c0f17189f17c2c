#include <detreduce/math.hpp>

#include "math/kernels.hpp"

namespace detreduce::proptests {
namespace {

using math::Function;

template <class T>
__device__ T value_of(Function f, T x) {
    switch (f) {
    case Function::exp:
        return math::exp(x);
    case Function::expm1:
        return math::expm1(x);
    case Function::log:
        return math::log(x);
    case Function::log1p:
        return math::log1p(x);
    case Function::sigmoid:
        return math::sigmoid(x);
    case Function::softplus:
        return math::softplus(x);
    case Function::tanh:
        return math::tanh(x);
    case Function::rsqrt:
        return math::rsqrt(x);
    }
    return x;
}

template <class T>
__global__ void evaluate(Function f, const T* x, T* y, std::uint64_t n) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = value_of(f, x[i]);
}

template <class T>
cudaError_t launch(Function f, const T* x, T* y, std::uint64_t n) {
    if (n > 0) evaluate<<<1024, 256>>>(f, x, y, n);
    return cudaGetLastError();
}

} // namespace

cudaError_t evaluate_on_gpu(Function f, const float* x, float* y, std::uint64_t n) {
    return launch(f, x, y, n);
}
cudaError_t evaluate_on_gpu(Function f, const double* x, double* y, std::uint64_t n) {
    return launch(f, x, y, n);
}

} // namespace detreduce::proptests
