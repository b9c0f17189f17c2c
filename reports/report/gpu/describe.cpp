#include <fmt/format.h>

#include <detreduce/cuda.hpp>

#include "failure.hpp"
#include "cub_version.hpp"
#include "gpu.hpp"

namespace detreduce::report::gpu {
namespace {

std::string version(int number) {
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

} // namespace

Gpu describe(int index) {
    for (const cuda::DeviceInfo& d : cuda::devices()) {
        if (d.index != index) continue;
        Gpu gpu;
        gpu.name = d.name;
        gpu.compute_capability = fmt::format("{}.{}", d.major, d.minor);
        gpu.multiprocessors = d.multiprocessors;
        gpu.memory_bytes = d.memory_bytes;
        gpu.l2_bytes = d.l2_bytes;
        if (d.peak_bytes_per_s > 0) gpu.peak_gb_per_s = d.peak_bytes_per_s / 1e9;
        gpu.driver = version(cuda::driver_version());
        gpu.toolkit = version(cuda::runtime_version());
        gpu.cub = cub_version();
        return gpu;
    }
    throw program::Failure(fmt::format("there is no GPU cuda:{}", index));
}

std::string compiler() {
    return cuda_compiler();
}

} // namespace detreduce::report::gpu
