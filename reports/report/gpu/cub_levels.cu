// cub::DeviceReduce::Sum with each determinism level of CCCL 3.1 and later, from the CCCL of
// DETREDUCE_CCCL_DIR. These calls take their temporary storage from an allocator themselves, which
// is part of what their users wait for.
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>

#include <cuda/execution>
#include <cuda/stream>

#include <memory>

#include "contenders.hpp"

#if CUB_VERSION < 300100
#error "detreduce: DETREDUCE_CCCL_DIR names a CCCL older than 3.1, which has no determinism levels"
#endif

namespace detreduce::report::gpu {
namespace {

template <class Level>
CubLevel level_of(const char* name, const char* guarantee, Level level, std::uint64_t n) {
    const auto out = std::make_shared<DeviceMemory>(sizeof(float));
    auto launch = [=](const void* x, cudaStream_t stream) {
        const auto env = cuda::std::execution::env{cuda::stream_ref{stream}, cuda::execution::require(level)};
        check(cub::DeviceReduce::Sum(static_cast<const float*>(x), static_cast<float*>(out->get()), n, env),
              "cub::DeviceReduce::Sum");
    };
    return {std::string("CUB ") + name,
            guarantee,
            {"cub::DeviceReduce::Sum", name, launch, static_cast<const float*>(out->get()), 1}};
}

} // namespace

std::vector<CubLevel> cub_levels(std::uint64_t n) {
    namespace determinism = cuda::execution::determinism;
    return {level_of("not_guaranteed", "none", determinism::not_guaranteed, n),
            level_of("run_to_run", "run_to_run", determinism::run_to_run, n),
            level_of("gpu_to_gpu", "gpu_to_gpu", determinism::gpu_to_gpu, n)};
}

} // namespace detreduce::report::gpu
