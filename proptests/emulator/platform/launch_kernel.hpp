// Stands in for kernels/platform/launch_kernel.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <tuple>

#include "sequence/launch.hpp"
#include "platform/cuda_error.hpp"

namespace detreduce::cuda {

/// Bytes of shared memory of a multiprocessor, of which each block takes 1 KiB beside its own:
/// those of an H100, or what the environment says.
inline std::size_t shared_of_multiprocessor() {
    const char* const kib = std::getenv("DETREDUCE_EMULATED_SHARED_KIB");
    return (kib != nullptr ? std::strtoull(kib, nullptr, 10) : 228) << 10;
}
/// Bytes that a block of a kernel may have.
inline std::size_t& shared_allowed(const void* kernel) {
    static std::map<const void*, std::size_t> allowed;
    return allowed.try_emplace(kernel, std::size_t{48} << 10).first->second;
}

enum class LaunchKind { plain, cooperative, after_previous };

template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_kernel(LaunchKind kind, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                                   std::size_t shared, cudaStream_t, const Arguments&... arguments) {
    if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.y > 65535 || blocks.z > 65535 || threads.x == 0 ||
        threads.y == 0 || threads.z != 1 || threads.x * threads.y > 1024 ||
        shared > shared_allowed(reinterpret_cast<const void*>(kernel))) {
        return from_cuda("cudaLaunchKernelEx", cudaErrorInvalidConfiguration);
    }
    const std::tuple<Parameters...> given(static_cast<Parameters>(arguments)...);
    emulator::run_grid(__PRETTY_FUNCTION__, blocks, threads, shared, kind == LaunchKind::cooperative,
                       [&] { std::apply(kernel, given); });
    return {};
}

template <class Kernel>
[[nodiscard]] bool allow_shared(Kernel kernel, std::size_t bytes) {
    if (bytes + 1024 > shared_of_multiprocessor()) return false;
    std::size_t& allowed = shared_allowed(reinterpret_cast<const void*>(kernel));
    allowed = std::max(allowed, bytes);
    return true;
}
template <class Kernel>
[[nodiscard]] bool has_clusters(std::uint32_t, Kernel, dim3, std::size_t) {
    return true;
}

template <class... Parameters, class... Arguments>
[[nodiscard]] Status launch_clusters(std::uint32_t cluster, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                                     std::size_t shared, cudaStream_t, const Arguments&... arguments) {
    if (cluster == 0 || cluster > 16 || blocks.x == 0 || blocks.x % cluster != 0 || blocks.y * blocks.z != 1 ||
        threads.x * threads.y > 1024 || shared > shared_allowed(reinterpret_cast<const void*>(kernel))) {
        return from_cuda("cudaLaunchKernelEx", cudaErrorInvalidConfiguration);
    }
    const std::tuple<Parameters...> given(static_cast<Parameters>(arguments)...);
    emulator::run_clusters(__PRETTY_FUNCTION__, cluster, blocks, threads, shared, [&] { std::apply(kernel, given); });
    return {};
}

template <class Kernel>
[[nodiscard]] Status count_resident(Kernel, std::uint32_t, std::size_t shared, const DeviceTraits& device,
                                    std::uint32_t& blocks) {
    blocks =
        static_cast<std::uint32_t>(std::min<std::size_t>(3, shared_of_multiprocessor() / (shared + 1024))) * device.sms;
    return {};
}

template <class Kernel>
[[nodiscard]] LaunchKind after_previous(const DeviceTraits&, Kernel) {
    return LaunchKind::plain;
}

} // namespace detreduce::cuda
