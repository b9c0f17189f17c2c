// The one place that launches kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "platform/cuda_error.hpp"
#include "policies.hpp"
#include "sequence/launch.hpp"

namespace detreduce::cuda {

enum class LaunchKind {
    plain,
    cooperative,
    after_previous, ///< programmatic dependent launch: the kernel itself waits for the one before it
};

[[nodiscard]] inline cudaLaunchConfig_t cluster_config(std::uint32_t cluster, dim3 blocks, dim3 threads,
                                                       std::size_t shared, cudaLaunchAttribute& attribute) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
}

/// `cluster`: blocks of a cluster, which divides blocks.x.
template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_clusters(std::uint32_t cluster, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                                     std::size_t shared, cudaStream_t stream, const Arguments&... arguments) {
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config = cluster_config(cluster, blocks, threads, shared, attribute);
    config.stream = stream;
    return from_cuda("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, kernel, arguments...));
}

/// Lets `kernel` have so many bytes of shared memory a block, if the device has them.
template <class Kernel>
[[nodiscard]] bool allow_shared(Kernel kernel, std::size_t bytes) {
    const bool allowed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(bytes)) == cudaSuccess;
    if (!allowed) (void)cudaGetLastError(); // it is done another way
    return allowed;
}

/// Can the device run clusters of so many blocks of `kernel`? Not where it is older code,
/// translated for a newer device.
template <class Kernel>
[[nodiscard]] bool has_clusters(std::uint32_t cluster, Kernel kernel, dim3 threads, std::size_t shared) {
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess || attributes.ptxVersion < 90) return false;
    if (cluster > policy::portable_cluster &&
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    cudaLaunchAttribute attribute{};
    const cudaLaunchConfig_t config = cluster_config(cluster, dim3(cluster), threads, shared, attribute);
    int clusters = 0;
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess) return clusters > 0;
    (void)cudaGetLastError(); // they are launched another way
    return false;
}

template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_kernel(LaunchKind kind, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                                   std::size_t shared, cudaStream_t stream, const Arguments&... arguments) {
    cudaLaunchAttribute attribute{};
    if (kind == LaunchKind::cooperative) {
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
    } else {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = kind == LaunchKind::plain ? 0 : 1;
    return from_cuda("cudaLaunchKernelEx", cudaLaunchKernelEx(&config, kernel, arguments...));
}

/// Blocks of `kernel`, at least one, that the device holds at once.
template <class Kernel>
[[nodiscard]] Status count_resident(Kernel kernel, std::uint32_t threads, std::size_t shared,
                                    const DeviceTraits& device, std::uint32_t& blocks) {
    int per_sm = 0;
    const Status status =
        from_cuda("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, static_cast<int>(threads), shared));
    blocks = per_sm > 0 ? static_cast<std::uint32_t>(per_sm) * device.sms : 1;
    return status;
}

/// after_previous if `kernel` was compiled with its wait for the kernel before it: not when it is
/// older code, translated for a newer device.
template <class Kernel>
[[nodiscard]] LaunchKind after_previous(const DeviceTraits& device, Kernel kernel) {
    cudaFuncAttributes attributes{};
    const bool waits = device.dependent_launch && cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
                       attributes.ptxVersion >= 90;
    return waits ? LaunchKind::after_previous : LaunchKind::plain;
}

} // namespace detreduce::cuda
