// cub::DeviceReduce::Sum as its users call it: temporary storage allocated once, an int for n while that holds it.
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>

#include <climits>
#include <memory>

#include "contenders.hpp"
#include "cub_version.hpp"

namespace detreduce::report::gpu {
namespace {

template <class T, class N>
Contender contender(N n) {
    std::size_t bytes = 0;
    check(cub::DeviceReduce::Sum(nullptr, bytes, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), n),
          "cub::DeviceReduce::Sum");
    const auto temporary = std::make_shared<DeviceMemory>(bytes);
    const auto out = std::make_shared<DeviceMemory>(sizeof(T));
    return {"cub::DeviceReduce::Sum", "", [=](const void* x, cudaStream_t stream) {
                std::size_t size = bytes;
                check(cub::DeviceReduce::Sum(temporary->get(), size, static_cast<const T*>(x),
                                             static_cast<T*>(out->get()), n, stream),
                      "cub::DeviceReduce::Sum");
            }};
}

template <class T>
Contender contender_of(std::uint64_t n) {
    return n <= INT_MAX ? contender<T>(static_cast<int>(n)) : contender<T>(n);
}

} // namespace

Contender cub_contender(DType dtype, std::uint64_t n) {
    return dtype == DType::f32 ? contender_of<float>(n) : contender_of<double>(n);
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
