// cudaError_t as a Status, and a device that stays the current one for a scope. The kernels,
// nccl.hpp and mpi_cuda.hpp include this.
#pragma once

#include <cuda_runtime_api.h>

#include <detreduce/status.hpp>

namespace detreduce::detail {

[[nodiscard]] inline Status status_of(const char* call, cudaError_t error) noexcept {
    if (error == cudaSuccess) return {};
    (void)cudaGetLastError(); // the caller has the status; it should not meet the error again in a call of its own
    return {StatusCode::cuda_error, call, cudaGetErrorString(error), static_cast<int>(error)};
}

/// Makes `index` the current device (-1: leaves it) and puts the former one back.
class DeviceScope {
  public:
    explicit DeviceScope(int index) noexcept {
        if (index < 0) return;
        status_ = status_of("cudaGetDevice", cudaGetDevice(&former_));
        if (!status_.ok() || index == former_) return;
        restore_ = true; // also if that fails, which may be after it is the current one
        status_ = status_of("cudaSetDevice", cudaSetDevice(index));
    }
    ~DeviceScope() {
        if (restore_) (void)cudaSetDevice(former_);
    }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;
    [[nodiscard]] const Status& status() const noexcept { return status_; }

  private:
    int former_ = 0;
    bool restore_ = false;
    Status status_;
};

} // namespace detreduce::detail
