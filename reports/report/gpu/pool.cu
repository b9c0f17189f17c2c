#include "pool.hpp"

#include <algorithm>

namespace detreduce::report::gpu {
namespace {

// SplitMix64 at the counter-th step.
__device__ std::uint64_t hash(std::uint64_t seed, std::uint64_t counter) {
    std::uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// A signed integer of as many bits as the format holds, scaled to [−1, 1).
__device__ float uniform(std::uint64_t bits, float) {
    return static_cast<float>(static_cast<std::int64_t>(bits) >> 40) * 0x1p-23f;
}
__device__ double uniform(std::uint64_t bits, double) {
    return static_cast<double>(static_cast<std::int64_t>(bits) >> 11) * 0x1p-52;
}

template <class T>
__global__ void fill(T* out, std::uint64_t n, std::uint64_t seed) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
        out[i] = uniform(hash(seed, i), T());
}

template <class T>
void fill_all(void* memory, std::size_t bytes, std::uint64_t seed) {
    fill<<<4096, 256>>>(static_cast<T*>(memory), bytes / sizeof(T), seed);
    check(cudaGetLastError(), "launch of fill");
    check(cudaDeviceSynchronize(), "fill");
}

std::size_t l2_bytes() {
    int device = 0, bytes = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
    return static_cast<std::size_t>(bytes);
}

std::size_t aligned(std::size_t bytes) {
    return (bytes + 511) / 512 * 512;
}

} // namespace

std::size_t Pool::bytes_for(std::size_t largest) {
    return std::max(4 * l2_bytes(), aligned(largest)) + aligned(largest);
}

Pool::Pool(std::size_t bytes, DType dtype, std::uint64_t seed) : memory_(bytes), size_(bytes) {
    if (dtype == DType::f32)
        fill_all<float>(memory_.get(), bytes, seed);
    else
        fill_all<double>(memory_.get(), bytes, seed);
}

const void* Pool::next(std::size_t bytes) {
    const std::size_t slice = aligned(bytes), window = std::min(size_, bytes_for(bytes));
    if (at_ + slice > window) at_ = 0;
    const void* data = static_cast<const char*>(memory_.get()) + at_;
    at_ += slice;
    return data;
}

} // namespace detreduce::report::gpu
