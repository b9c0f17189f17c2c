// What devices there are.
#include <cuda_runtime_api.h>

#include <detreduce/cuda.hpp>

#include "cuda_backend.hpp"

namespace detreduce::cuda {
namespace {

double peak_bandwidth(int device) {
    int khz = 0, bits = 0;
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, device) != cudaSuccess) return 0;
    if (cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device) != cudaSuccess) return 0;
    return 2.0 * khz * 1e3 * bits / 8; // two transfers a clock
}

DeviceInfo describe(int index) {
    DeviceInfo d;
    d.index = index;
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, index) != cudaSuccess) return d;
    d.name = p.name;
    d.major = p.major;
    d.minor = p.minor;
    d.multiprocessors = p.multiProcessorCount;
    d.memory_bytes = p.totalGlobalMem;
    d.l2_bytes = static_cast<std::uint64_t>(p.l2CacheSize);
    d.peak_bytes_per_s = peak_bandwidth(index);
    return d;
}

} // namespace

std::vector<DeviceInfo> list_devices(std::string* why) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    std::vector<DeviceInfo> found;
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        if (why) *why = cudaGetErrorString(error);
        return found;
    }
    for (int i = 0; i < count; ++i)
        found.push_back(describe(i));
    if (found.empty() && why) *why = "CUDA works, but there is no device";
    return found;
}

int find_driver_version() noexcept {
    int v = 0;
    return cudaDriverGetVersion(&v) == cudaSuccess ? v : 0;
}

int find_runtime_version() noexcept {
    int v = 0;
    return cudaRuntimeGetVersion(&v) == cudaSuccess ? v : 0;
}

} // namespace detreduce::cuda
