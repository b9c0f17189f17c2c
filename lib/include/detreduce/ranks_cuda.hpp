// What a rank whose elements are on a GPU needs of the CUDA runtime. nccl.hpp and mpi_cuda.hpp
// include this.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include <detreduce/status.hpp>

namespace detreduce::detail {

struct CudaFree {
    void operator()(void* memory) const { (void)cudaFree(memory); }
};
using CudaMemory = std::unique_ptr<void, CudaFree>;
struct CudaFreeHost {
    void operator()(void* memory) const { (void)cudaFreeHost(memory); }
};
using CudaHostMemory = std::unique_ptr<void, CudaFreeHost>; ///< page-locked

[[nodiscard]] inline Status status_of(const char* call, cudaError_t error) noexcept {
    if (error == cudaSuccess) return {};
    (void)cudaGetLastError(); // the caller has the status
    return {StatusCode::cuda_error, call, cudaGetErrorString(error), static_cast<int>(error)};
}

/// A device as the current one.
class DeviceScope {
  public:
    explicit DeviceScope(int device) noexcept {
        status_ = status_of("cudaGetDevice", cudaGetDevice(&before_));
        if (!status_.ok() || before_ == device) return;
        restore_ = true; // also if that fails, which may be after it is the current one
        status_ = status_of("cudaSetDevice", cudaSetDevice(device));
    }
    ~DeviceScope() {
        if (restore_) (void)cudaSetDevice(before_);
    }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;
    [[nodiscard]] const Status& status() const noexcept { return status_; }

  private:
    int before_ = 0;
    bool restore_ = false;
    Status status_;
};

} // namespace detreduce::detail
