#include "reduce_cuda.hpp"

#include <algorithm>
#include <memory>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "command.hpp"

namespace detreduce::program {
namespace {

void check(cudaError_t error, std::string_view what) {
    if (error != cudaSuccess) throw Failure(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

struct Free {
    void operator()(void* p) const { cudaFree(p); }
};
using DeviceMemory = std::unique_ptr<void, Free>;

DeviceMemory allocate(std::size_t bytes) {
    void* p = nullptr;
    if (bytes > 0) check(cudaMalloc(&p, bytes), fmt::format("cannot allocate {} bytes on the CUDA device", bytes));
    return DeviceMemory(p);
}

/// In slices: the driver stages pageable memory, and a mapped file is read from disk one slice after the other.
void copy_to_device(void* to, const void* from, std::size_t bytes) {
    constexpr std::size_t slice = std::size_t{64} << 20;
    for (std::size_t at = 0; at < bytes; at += slice) {
        check(cudaMemcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, std::min(slice, bytes - at),
                         cudaMemcpyHostToDevice),
              "cannot copy to the CUDA device");
    }
}

} // namespace

void reduce_on_cuda(const Request& request, const void* x, void* out) {
    const Plan plan = make_plan(request);
    if (!plan.status().ok()) throw Failure(to_string(plan.status()));
    check(cudaSetDevice(request.device.index), "cannot use the CUDA device");
    const std::size_t size = size_of(request.dtype), bytes = request.n * size;
    const DeviceMemory input = allocate(bytes), output = allocate(size), workspace = allocate(plan.workspace_bytes());
    copy_to_device(input.get(), x, bytes);
    if (const Status status = run(plan, input.get(), output.get(), workspace.get()); !status.ok())
        throw Failure(to_string(status));
    check(cudaMemcpy(out, output.get(), size, cudaMemcpyDeviceToHost), "the reduction failed on the CUDA device");
}

} // namespace detreduce::program
