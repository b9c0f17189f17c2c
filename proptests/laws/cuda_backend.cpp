#include "laws/cuda_backend.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <support/precondition.hpp>

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

namespace {

constexpr std::size_t tail = 4096;

/// A buffer that grows and is kept from call to call, with room for a tail.
const DeviceBuffer& at_least(std::unique_ptr<DeviceBuffer>& buffer, std::size_t bytes) {
    if (!buffer || buffer->bytes() < bytes + tail) buffer = std::make_unique<DeviceBuffer>(2 * (bytes + tail));
    return *buffer;
}

/// Garbage in the first `bytes`, and a pattern right behind them that no kernel may touch.
void prepare(const DeviceBuffer& buffer, std::size_t bytes) {
    CUDA_CHECK(cudaMemset(buffer.data(), 0xff, bytes));
    CUDA_CHECK(cudaMemset(buffer.data() + bytes, 0xa5, tail));
}

bool tail_is_intact(const DeviceBuffer& buffer, std::size_t bytes) {
    std::vector<unsigned char> zone(tail);
    CUDA_CHECK(cudaMemcpy(zone.data(), buffer.data() + bytes, tail, cudaMemcpyDeviceToHost));
    return std::all_of(zone.begin(), zone.end(), [](unsigned char c) { return c == 0xa5; });
}

} // namespace

template <class T>
T CudaBackend::reduce(std::span<const T> x, Method method, const Draw& draw) {
    static std::unique_ptr<DeviceBuffer> input, output, scratch;
    const Plan plan = make_plan(
        {.method = method, .dtype = dtype_of<T>, .n = x.size(), .device = {Backend::cuda, -1}, .launch = draw.launch});
    throw_if_error(plan.status());
    const DeviceBuffer& in = at_least(input, x.size_bytes() + draw.offset * sizeof(T));
    const DeviceBuffer& out = at_least(output, sizeof(T));
    const DeviceBuffer& workspace = at_least(scratch, plan.workspace_bytes());
    T* const d_x = reinterpret_cast<T*>(in.data()) + draw.offset;
    if (!x.empty()) CUDA_CHECK(cudaMemcpy(d_x, x.data(), x.size_bytes(), cudaMemcpyHostToDevice));
    prepare(out, sizeof(T));
    prepare(workspace, plan.workspace_bytes());
    throw_if_error(run(plan, d_x, out.data(), workspace.data()));
    T result;
    CUDA_CHECK(cudaMemcpy(&result, out.data(), sizeof result, cudaMemcpyDeviceToHost));
    if (!tail_is_intact(out, sizeof(T)) || !tail_is_intact(workspace, plan.workspace_bytes()))
        throw std::runtime_error("a kernel wrote outside its memory");
    return result;
}

template float CudaBackend::reduce<float>(std::span<const float>, Method, const Draw&);
template double CudaBackend::reduce<double>(std::span<const double>, Method, const Draw&);

std::vector<Draw> CudaBackend::all_draws() {
    std::vector<Draw> draws;
    for (const Schedule schedule : {Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        for (const std::uint32_t block : {128u, 256u, 512u}) {
            for (const std::uint32_t grid : {0u, 1u, 2u, 3u, 13u, 64u, 1000u, 100000u}) {
                for (const unsigned offset : {0u, 1u, 2u, 3u})
                    draws.push_back({{.schedule = schedule, .grid = grid, .block = block}, offset});
            }
        }
    }
    return draws;
}

/// Runs before any test: without a GPU these are skipped, loudly.
int precondition() {
    std::string why;
    if (!cuda::devices(&why).empty()) return 0;
    std::fprintf(stderr,
                 "\n*** SKIPPED: no GPU test has run, because there is no usable CUDA device (%s). ***\n"
                 "*** The GPU's bits are still checked on the CPU through proptests/golden/. ***\n\n",
                 why.c_str());
    return 77;
}

} // namespace detreduce::proptests
