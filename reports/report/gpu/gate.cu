#include "gate.hpp"

#include <atomic>
#include <cstdint>

namespace detreduce::report::gpu {
namespace {

constexpr std::uint64_t patience_ns = 20'000'000;

__device__ std::uint64_t nanoseconds() {
    std::uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ void wait(const volatile unsigned* open, volatile unsigned* gave_up) {
    const std::uint64_t start = nanoseconds();
    while (*open == 0) {
        if (nanoseconds() - start > patience_ns) {
            *gave_up = 1;
            return;
        }
    }
}

} // namespace

Gate::Gate() {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(Flags), cudaHostAllocMapped), "cudaHostAlloc");
    host_ = static_cast<Flags*>(memory);
    check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_), memory, 0), "cudaHostGetDevicePointer");
}

Gate::~Gate() {
    cudaFreeHost(host_);
}

void Gate::close(cudaStream_t stream) {
    host_->open = 0;
    host_->gave_up = 0;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    wait<<<1, 1, 0, stream>>>(&device_->open, &device_->gave_up);
    check(cudaGetLastError(), "launch of wait");
}

void Gate::open() {
    host_->open = 1;
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool Gate::held() const {
    return host_->gave_up == 0;
}

} // namespace detreduce::report::gpu
