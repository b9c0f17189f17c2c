// Sums of data in device memory, and what devices there are. Without CUDA in the build these report no_device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <detreduce/plan.hpp>

namespace detreduce::cuda {

/// Sum of the n elements at device pointer `x` into device pointer `out`, enqueued on `stream` of the current device.
///
/// formula, shapes, guarantee, error bound, passes, NaN and empty: as run()
/// dtypes       float, double
/// workspace    from the stream-ordered allocator (cudaMallocAsync, cudaFreeAsync), freed in stream order
/// stream       enqueued, not synchronised; may be captured in a graph
/// errors       the status of the plan or of run(); cuda_error, also on devices without memory pools
Status sum(const float* x, std::uint64_t n, float* out, Method method = Method::tree, Stream stream = nullptr) noexcept;
Status sum(const double* x, std::uint64_t n, double* out, Method method = Method::tree,
           Stream stream = nullptr) noexcept;

/// run() with the workspace taken from the stream-ordered allocator; what the typed calls above are made of. invalid_argument for a plan
/// that was not made for a CUDA device.
Status run_async(const Plan& plan, const void* x, void* out, Stream stream = nullptr) noexcept;

struct DeviceInfo {
    int index = 0;
    std::string name;
    int major = 0, minor = 0; ///< compute capability
    int multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t l2_bytes = 0;
    double peak_bytes_per_s = 0; ///< from the device's own properties; 0 when it does not tell
};

/// Was this library built with its CUDA backend?
[[nodiscard]] bool built_with_cuda() noexcept;

/// The usable devices; empty when there is none (`why`, if given, then says why).
[[nodiscard]] std::vector<DeviceInfo> devices(std::string* why = nullptr);

/// Versions as CUDA writes them (13000 is 13.0); 0 when there is none.
[[nodiscard]] int driver_version() noexcept;
[[nodiscard]] int runtime_version() noexcept;

} // namespace detreduce::cuda
