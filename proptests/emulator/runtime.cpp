// The calls of the CUDA runtime that the library and its tests make, for one device with little of
// everything. Streams run at once.
#include <cstdlib>
#include <map>
#include <mutex>

#include "emulator.hpp"

namespace {

std::mutex guard;
std::map<char*, std::size_t> allocations;
constexpr std::size_t margin = 256;
constexpr unsigned char never_written = 0xff, beyond = 0xa5;

/// Full of NaN, aligned to 256 bytes, with a margin behind it that nobody may write to.
cudaError_t allocate(void** p, std::size_t bytes) {
    const std::size_t room = (bytes + 255) / 256 * 256 + margin;
    auto* const memory = static_cast<char*>(std::aligned_alloc(256, room));
    if (memory == nullptr) return cudaErrorMemoryAllocation;
    std::memset(memory, never_written, bytes);
    std::memset(memory + bytes, beyond, room - bytes);
    const std::lock_guard lock(guard);
    allocations[memory] = bytes;
    *p = memory;
    return cudaSuccess;
}
cudaError_t release(void* p) {
    if (p == nullptr) return cudaSuccess;
    const std::lock_guard lock(guard);
    const auto found = allocations.find(static_cast<char*>(p));
    if (found == allocations.end()) detreduce::emulator::fail("memory is freed that was not allocated");
    const std::size_t bytes = found->second, room = (bytes + 255) / 256 * 256 + margin;
    for (std::size_t i = bytes; i < room; ++i)
        if (static_cast<unsigned char>(found->first[i]) != beyond)
            detreduce::emulator::fail("something was written behind an allocation");
    allocations.erase(found);
    std::free(p);
    return cudaSuccess;
}

} // namespace

extern "C" {
cudaError_t cudaMalloc(void** p, std::size_t bytes) {
    return allocate(p, bytes);
}
cudaError_t cudaMallocHost(void** p, std::size_t bytes) {
    return allocate(p, bytes);
}
cudaError_t cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t) {
    return allocate(p, bytes);
}
cudaError_t cudaFree(void* p) {
    return release(p);
}
cudaError_t cudaFreeHost(void* p) {
    return release(p);
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t) {
    return release(p);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* p, int value, std::size_t bytes) {
    if (bytes != 0) std::memset(p, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t) {
    return cudaMemset(p, value, bytes);
}
cudaError_t cudaMemGetInfo(std::size_t* left, std::size_t* all) {
    *left = *all = std::size_t{1} << 30;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    *value = which == cudaDevAttrMultiProcessorCount      ? 3
             : which == cudaDevAttrComputeCapabilityMajor ? 9
             : which == cudaDevAttrCooperativeLaunch      ? 1
             : which == cudaDevAttrGlobalMemoryBusWidth   ? 64
             : which == cudaDevAttrMemoryClockRate        ? 1000
                                                          : 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
    *p = {};
    std::strcpy(p->name, "emulator");
    p->major = 9;
    p->multiProcessorCount = 3;
    p->totalGlobalMem = std::size_t{1} << 30;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
    *a = {};
    a->ptxVersion = 90;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
    *blocks = 2;
    return cudaSuccess;
}
cudaError_t cudaGetLastError() {
    return cudaSuccess;
}
cudaError_t cudaPeekAtLastError() {
    return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
    return "an error of the emulator";
}
const char* cudaGetErrorName(cudaError_t) {
    return "an error of the emulator";
}
cudaError_t cudaDeviceSynchronize() {
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    static char streams[64];
    static int next = 0;
    *stream = reinterpret_cast<cudaStream_t>(&streams[next++ % 64]);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* argument) {
    function(argument);
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
// There are no graphs.
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    return cudaErrorNotSupported;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, std::size_t*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType*) {
    return cudaErrorNotSupported;
}
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t, cudaKernelNodeParams*) {
    return cudaErrorNotSupported;
}
}
