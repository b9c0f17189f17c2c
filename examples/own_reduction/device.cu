// A kernel as one writes it first, and a library's.
#include <cub/device/device_reduce.cuh>

#include "device.hpp"

using namespace detreduce::accuracy;

namespace {

// Every thread adds its elements and then, in whatever order they come, to one number.
template <class T>
__global__ void add_atomically(const T* x, std::uint64_t n, T* out) {
    T sum = 0;
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        sum += x[i];
    atomicAdd(out, sum);
}

template <class T>
cudaError_t naive(const T* x, std::uint64_t n, T* out, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(out, 0, sizeof(T), stream);
    if (error != cudaSuccess) return error;
    add_atomically<<<1024, 256, 0, stream>>>(x, n, out);
    return cudaGetLastError();
}

// CUB says how much memory it needs when it is given none.
template <class T>
std::size_t cub_bytes(std::uint64_t n) {
    std::size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), n);
    return bytes;
}

template <class T>
cudaError_t cub_sum(const T* x, std::uint64_t n, T* out, void* workspace, cudaStream_t stream) {
    std::size_t bytes = cub_bytes<T>(n);
    return cub::DeviceReduce::Sum(workspace, bytes, x, out, n, stream);
}

template <class T>
void add_both(Study& study) {
    study.add_device<T>("naive atomics", naive<T>);
    study.add_device<T>("my CUB Sum", cub_bytes<T>, cub_sum<T>, {.guarantee = detreduce::Guarantee::run_to_run});
}

} // namespace

void add_device_reductions(Study& study) {
    add_both<float>(study);
    add_both<double>(study);
}
