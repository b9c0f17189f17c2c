// Stands in for kernels/platform/launch_kernel.hpp.
#pragma once

#include <cstdint>
#include <tuple>

#include "sequence/launch.hpp"
#include "platform/cuda_error.hpp"

namespace detreduce::cuda {

inline constexpr std::size_t most_shared = std::size_t{227} << 10; ///< bytes a block

enum class LaunchKind { plain, cooperative, after_previous };

template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_kernel(LaunchKind kind, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                                   std::size_t shared, cudaStream_t, const Arguments&... arguments) {
    if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.y > 65535 || blocks.z > 65535 || threads.x == 0 ||
        threads.y == 0 || threads.z != 1 || threads.x * threads.y > 1024 || shared > most_shared) {
        return from_cuda("cudaLaunchKernelEx", cudaErrorInvalidConfiguration);
    }
    const std::tuple<Parameters...> given(static_cast<Parameters>(arguments)...);
    emulator::run_grid(__PRETTY_FUNCTION__, blocks, threads, shared, kind == LaunchKind::cooperative,
                       [&] { std::apply(kernel, given); });
    return {};
}

template <class Kernel>
[[nodiscard]] bool allow_shared(Kernel, std::size_t bytes) {
    return bytes <= most_shared;
}
template <class Kernel>
[[nodiscard]] bool has_clusters(std::uint32_t, Kernel, dim3, std::size_t) {
    return true;
}

template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_clusters(std::uint32_t cluster, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                                     std::size_t shared, cudaStream_t, const Arguments&... arguments) {
    if (cluster == 0 || cluster > 16 || blocks.x == 0 || blocks.x % cluster != 0 || blocks.y * blocks.z != 1 ||
        threads.x * threads.y > 1024 || shared > most_shared) {
        return from_cuda("cudaLaunchKernelEx", cudaErrorInvalidConfiguration);
    }
    const std::tuple<Parameters...> given(static_cast<Parameters>(arguments)...);
    emulator::run_clusters(__PRETTY_FUNCTION__, cluster, blocks, threads, shared, [&] { std::apply(kernel, given); });
    return {};
}

template <class Kernel>
[[nodiscard]] Status count_resident(Kernel, std::uint32_t, std::size_t, const DeviceTraits& device,
                                    std::uint32_t& blocks) {
    blocks = 3 * device.sms;
    return {};
}

template <class Kernel>
[[nodiscard]] LaunchKind after_previous(const DeviceTraits&, Kernel) {
    return LaunchKind::plain;
}

} // namespace detreduce::cuda
