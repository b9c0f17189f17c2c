// A sum on the GPU: the caller owns buffers, workspace and stream; the bits are those of the CPU.
// Exit: 0 the GPU gave the CPU's bits, 1 it did not or a call failed, 77 there is no GPU here.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include <detreduce/detreduce.hpp>

namespace dr = detreduce;

static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

int main() try {
    std::string why;
    if (dr::cuda::devices(&why).empty()) {
        std::printf("*** SKIPPED: no usable GPU here (%s); nothing was computed ***\n", why.c_str());
        return 77;
    }

    std::mt19937 random(1);
    std::vector<float> x(1'000'000);
    for (float& v : x)
        v = static_cast<float>(random()) * 0x1p-32f - 0.5f;

    // The plan says how much workspace the sum needs. Making it and running it allocate nothing.
    const dr::Plan plan = dr::make_plan({.dtype = dr::DType::f32, .n = x.size()});
    dr::throw_if_error(plan.status());

    cudaStream_t stream = nullptr;
    float* d_x = nullptr;
    float* d_sum = nullptr;
    void* workspace = nullptr;
    check(cudaStreamCreate(&stream));
    check(cudaMalloc(&d_x, x.size() * sizeof(float)));
    check(cudaMalloc(&d_sum, sizeof(float)));
    check(cudaMalloc(&workspace, plan.workspace_bytes()));

    // Enqueued on the stream; the result stays on the device until it is copied.
    float sum = 0;
    check(cudaMemcpyAsync(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
    dr::throw_if_error(dr::run(plan, d_x, d_sum, workspace, stream));
    check(cudaMemcpyAsync(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));

    const float on_cpu = dr::sum(x);
    const bool same = std::bit_cast<std::uint32_t>(sum) == std::bit_cast<std::uint32_t>(on_cpu);
    std::printf("GPU %.9g bits 0x%08x\nCPU %.9g bits 0x%08x\n%s\n", static_cast<double>(sum),
                std::bit_cast<std::uint32_t>(sum), static_cast<double>(on_cpu), std::bit_cast<std::uint32_t>(on_cpu),
                same ? "the same bits" : "DIFFERENT BITS");

    check(cudaFree(workspace));
    check(cudaFree(d_sum));
    check(cudaFree(d_x));
    check(cudaStreamDestroy(stream));
    return same ? 0 : 1;
} catch (const dr::Error& error) {
    std::fprintf(stderr, "detreduce: %s\n", error.what());
    return 1;
}
