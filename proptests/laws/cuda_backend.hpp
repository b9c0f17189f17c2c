// The GPU, as the conformance suite sees a backend: memory that is checked for stray writes, workspaces that start as garbage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <detreduce/detreduce.hpp>

#include "laws/draw.hpp"

namespace detreduce::proptests {

/// Throws std::runtime_error that names the call.
void check(cudaError_t error, const char* call);
#define CUDA_CHECK(call) ::detreduce::proptests::check((call), #call)

/// Device memory between two guard zones.
class DeviceBuffer {
  public:
    explicit DeviceBuffer(std::size_t bytes);
    ~DeviceBuffer();
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    [[nodiscard]] char* data() const { return base_ + guard; } ///< aligned to 512 bytes
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    /// Both wait until the device is done: streams of a test need not be ordered after the default one, and a copy from pageable
    /// memory may return before it has arrived.
    void fill(int byte, std::size_t bytes) const;
    void copy_from(const void* host, std::size_t bytes) const;
    /// Were the zones left alone?
    [[nodiscard]] bool guards_intact() const;

  private:
    static constexpr std::size_t guard = 4096;
    std::size_t bytes_;
    char* base_ = nullptr;
};

struct CudaBackend {
    static constexpr Backend kind = Backend::cuda;
    static constexpr const char* name = "cuda";

    template <class T>
    static T reduce(std::span<const T> x, Method method, const Draw& draw = {});

    static std::vector<Draw> all_draws();
};

extern template float CudaBackend::reduce<float>(std::span<const float>, Method, const Draw&);
extern template double CudaBackend::reduce<double>(std::span<const double>, Method, const Draw&);

} // namespace detreduce::proptests
