#include "pool.hpp"

#include <algorithm>

namespace detreduce::report::gpu {
namespace {

struct MakeData {
    Data data;
    std::uint64_t seed;
    template <class T>
    __device__ void operator()(T& x, std::uint64_t i, std::uint64_t slice) const {
        x = element<T>(data, seed, i, slice);
    }
};
struct MakeAdversary {
    Adversary data;
    std::uint64_t seed;
    template <class T>
    __device__ void operator()(T& x, std::uint64_t i, std::uint64_t slice) const {
        x = element<T>(data, seed, i % slice);
    }
};

template <class T, class Make>
__global__ void fill_kernel(T* out, std::uint64_t n, const Make make, std::uint64_t slice) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
        make(out[i], i, slice);
}

template <class T, class Make>
void fill_all(void* memory, std::size_t bytes, const Make& make, std::size_t slice_bytes) {
    fill_kernel<<<4096, 256>>>(static_cast<T*>(memory), bytes / sizeof(T), make, slice_bytes / sizeof(T));
    check(cudaGetLastError(), "launch of fill_kernel");
    check(cudaDeviceSynchronize(), "fill_kernel");
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

Pool::Pool(DType dtype, std::uint64_t largest, std::uint64_t seed)
    : dtype_(dtype), seed_(seed), memory_(bytes_for(largest * size_of(dtype))) {}

template <class Make>
void Pool::fill_by(std::uint64_t n, const Make& make) {
    n_ = n;
    at_ = 0;
    slice_ = aligned(n * size_of(dtype_));
    window_ = bytes_for(n * size_of(dtype_)) / slice_ * slice_;
    switch (dtype_) {
    case DType::f16:
        return fill_all<float16>(memory_.get(), window_, make, slice_);
    case DType::bf16:
        return fill_all<bfloat16>(memory_.get(), window_, make, slice_);
    case DType::f32:
        return fill_all<float>(memory_.get(), window_, make, slice_);
    case DType::f64:
        return fill_all<double>(memory_.get(), window_, make, slice_);
    case DType::f8e4m3:
        return fill_all<float8_e4m3>(memory_.get(), window_, make, slice_);
    case DType::f8e5m2:
        return fill_all<float8_e5m2>(memory_.get(), window_, make, slice_);
    }
}
void Pool::fill(Data data, std::uint64_t n) {
    fill_by(n, MakeData{data, seed_});
}
void Pool::fill(const Adversary& data, std::uint64_t n) {
    fill_by(n, MakeAdversary{data, seed_});
}

const void* Pool::next() {
    if (at_ == window_) at_ = 0;
    const void* data = static_cast<const char*>(memory_.get()) + at_;
    at_ += slice_;
    return data;
}

} // namespace detreduce::report::gpu
