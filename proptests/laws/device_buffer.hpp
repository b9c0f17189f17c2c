// Device memory that is checked for stray writes.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <detreduce/detreduce.hpp>

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
    /// Both wait until the device is done: streams of a test need not be ordered after the default
    /// one, and a copy from pageable memory may return before it has arrived.
    void fill(int byte, std::size_t bytes) const;
    void copy_from(const void* host, std::size_t bytes) const;
    /// Were the zones left alone?
    [[nodiscard]] bool guards_intact() const;

  private:
    static constexpr std::size_t guard = 4096;
    std::size_t bytes_;
    char* base_ = nullptr;
};

} // namespace detreduce::proptests
