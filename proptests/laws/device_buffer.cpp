#include "laws/device_buffer.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace detreduce::proptests {

void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_((bytes + 511) / 512 * 512) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes_ + 2 * guard));
    base_ = static_cast<char*>(memory);
    CUDA_CHECK(cudaMemset(base_, 0xa5, bytes_ + 2 * guard));
    CUDA_CHECK(cudaDeviceSynchronize());
}

DeviceBuffer::~DeviceBuffer() {
    (void)cudaFree(base_);
}

void DeviceBuffer::fill(int byte, std::size_t bytes) const {
    CUDA_CHECK(cudaMemset(data(), byte, bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
}

void DeviceBuffer::copy_from(const void* host, std::size_t bytes) const {
    CUDA_CHECK(cudaMemcpy(data(), host, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaDeviceSynchronize());
}

bool DeviceBuffer::guards_intact() const {
    std::vector<unsigned char> zone(guard);
    for (const char* at : {base_, base_ + guard + bytes_}) {
        CUDA_CHECK(cudaMemcpy(zone.data(), at, guard, cudaMemcpyDeviceToHost));
        if (std::any_of(zone.begin(), zone.end(), [](unsigned char c) { return c != 0xa5; })) return false;
    }
    return true;
}

} // namespace detreduce::proptests
