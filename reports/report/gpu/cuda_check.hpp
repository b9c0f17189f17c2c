// CUDA calls that throw when they fail, and owners of what they give.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include <detreduce/status.hpp>

#include "failure.hpp"

namespace detreduce::report::gpu {

inline void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess)
        throw program::Failure(std::string("CUDA: ") + call + " failed: " + cudaGetErrorString(error));
}

inline void check(const Status& status, const char* what) {
    if (!status.ok()) throw program::Failure(std::string(what) + ": " + to_string(status));
}

/// Device memory. Throws program::OutOfMemory when there is not enough.
class DeviceMemory {
  public:
    explicit DeviceMemory(std::size_t bytes) {
        const cudaError_t error = cudaMalloc(&data_, bytes > 0 ? bytes : 1);
        if (error == cudaErrorMemoryAllocation) {
            cudaGetLastError(); // or the next launch would be blamed for it
            throw program::OutOfMemory("no " + std::to_string(bytes) + " bytes of device memory are free");
        }
        check(error, "cudaMalloc");
    }
    ~DeviceMemory() { cudaFree(data_); }
    DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    DeviceMemory& operator=(DeviceMemory&&) = delete;
    [[nodiscard]] void* get() const { return data_; }

  private:
    void* data_ = nullptr;
};

/// Host memory that copies need not wait for. None where no bytes are asked for.
class PinnedMemory {
  public:
    explicit PinnedMemory(std::size_t bytes) {
        if (bytes > 0) check(cudaMallocHost(&data_, bytes), "cudaMallocHost");
    }
    ~PinnedMemory() {
        if (data_) cudaFreeHost(data_);
    }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    [[nodiscard]] void* get() const { return data_; }

  private:
    void* data_ = nullptr;
};

/// A stream that does not wait for the default stream.
class OwnStream {
  public:
    OwnStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
    ~OwnStream() {
        if (stream_) cudaStreamDestroy(stream_);
    }
    OwnStream(OwnStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
    OwnStream& operator=(OwnStream&&) = delete;
    [[nodiscard]] cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

class Event {
  public:
    Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
    ~Event() {
        if (event_) cudaEventDestroy(event_);
    }
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event&&) = delete;
    [[nodiscard]] cudaEvent_t get() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

} // namespace detreduce::report::gpu
