// cub::DeviceReduce::Sum as its users call it: temporary storage allocated once, an int for n while
// that holds it.
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>

#include <climits>
#include <memory>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "contenders.hpp"
#include "cub_version.hpp"
#include "gpu.hpp"

namespace detreduce::report::gpu {
namespace {

using Memory = std::shared_ptr<DeviceMemory>;

template <class T, class N>
Contender contender(N n, const Memory& out) {
    std::size_t bytes = 0;
    check(cub::DeviceReduce::Sum(nullptr, bytes, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), n),
          "cub::DeviceReduce::Sum");
    const auto temporary = std::make_shared<DeviceMemory>(bytes);
    return {"cub::DeviceReduce::Sum", "",
            [=](const void* x, cudaStream_t stream) {
                std::size_t size = bytes;
                check(cub::DeviceReduce::Sum(temporary->get(), size, static_cast<const T*>(x),
                                             static_cast<T*>(out->get()), n, stream),
                      "cub::DeviceReduce::Sum");
            },
            static_cast<const float*>(out->get()), sizeof(T) == sizeof(float) ? 1u : 0u};
}

template <class T>
Contender contender_of(std::uint64_t n, const Memory& out) {
    return n <= INT_MAX ? contender<T>(static_cast<int>(n), out) : contender<T>(n, out);
}

Contender contender_of(DType dtype, std::uint64_t n, const Memory& out) {
    switch (dtype) {
    case DType::f16:
        return contender_of<__half>(n, out);
    case DType::bf16:
        return contender_of<__nv_bfloat16>(n, out);
    case DType::f32:
        return contender_of<float>(n, out);
    default:
        return contender_of<double>(n, out);
    }
}

} // namespace

Contender cub_contender(DType dtype, std::uint64_t n) {
    return contender_of(dtype, n, std::make_shared<DeviceMemory>(size_of(dtype)));
}

void cub_sum(const Device& device, const Input& input, void* result) {
    check(cudaSetDevice(device.index), "cudaSetDevice");
    const DeviceMemory x(input.n * size_of(input.dtype));
    check(cudaMemcpy(x.get(), input.data, input.n * size_of(input.dtype), cudaMemcpyHostToDevice), "cudaMemcpy");
    const auto out = std::make_shared<DeviceMemory>(size_of(input.dtype));
    contender_of(input.dtype, input.n, out).launch(x.get(), nullptr);
    check(cudaMemcpy(result, out->get(), size_of(input.dtype), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

std::string cub_version() {
    return std::to_string(CUB_VERSION / 100000) + "." + std::to_string(CUB_VERSION / 100 % 1000) + "." +
           std::to_string(CUB_VERSION % 100);
}

std::string cuda_compiler() {
    return "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
           std::to_string(__CUDACC_VER_BUILD__);
}

} // namespace detreduce::report::gpu
