// The mean cross entropy of a batch on the GPU, of logits and targets that are there; the bits are
// those of the CPU.
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

template <class T>
static T* on_device(const std::vector<T>& x) {
    T* memory = nullptr;
    check(cudaMalloc(&memory, x.size() * sizeof(T)));
    check(cudaMemcpy(memory, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

int main() try {
    std::string why;
    if (dr::cuda::devices(&why).empty()) {
        std::printf("*** SKIPPED: no usable GPU here (%s); nothing was computed ***\n", why.c_str());
        return 77;
    }

    constexpr std::uint64_t classes = 1000, batch = 512;
    std::mt19937 random(1);
    std::vector<dr::bfloat16> logits;
    for (std::uint64_t i = 0; i < classes * batch; ++i)
        logits.push_back(dr::bfloat16(static_cast<float>(random()) * 0x1p-29f - 4));
    std::vector<std::int64_t> targets;
    for (std::uint64_t i = 0; i < batch; ++i)
        targets.push_back(static_cast<std::int64_t>(random() % classes));
    const dr::bfloat16* const d_logits = on_device(logits);
    const std::int64_t* const d_targets = on_device(targets);
    float* const d_loss = on_device(std::vector<float>(1));
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream));

    // --8<-- [start:plan]
    dr::RowRequest request{.op = dr::RowOp::cross_entropy,
                           .dtype = dr::DType::bf16,
                           .output = dr::DType::f32,
                           .n = classes,
                           .rows = batch,
                           .reduction = dr::Reduction::mean};
    const dr::RowPlan plan = dr::make_row_plan(request);
    dr::throw_if_error(plan.status());
    void* workspace = nullptr;
    check(cudaMalloc(&workspace, plan.workspace_bytes()));
    dr::throw_if_error(dr::run(plan, {.x = d_logits, .out = d_loss, .targets = d_targets}, workspace, stream));
    // --8<-- [end:plan]

    float loss = 0, on_cpu = 0;
    check(cudaMemcpyAsync(&loss, d_loss, sizeof loss, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    request.device = dr::cpu;
    const dr::RowPlan cpu_plan = dr::make_row_plan(request);
    std::vector<std::uint64_t> cpu_workspace((cpu_plan.workspace_bytes() + 7) / 8);
    dr::throw_if_error(
        dr::run(cpu_plan, {.x = logits.data(), .out = &on_cpu, .targets = targets.data()}, cpu_workspace.data()));
    const bool same = std::bit_cast<std::uint32_t>(loss) == std::bit_cast<std::uint32_t>(on_cpu);
    std::printf("GPU %.9g, CPU %.9g: %s\n", static_cast<double>(loss), static_cast<double>(on_cpu),
                same ? "the same bits" : "DIFFERENT BITS");
    return same ? 0 : 1; // and the memory goes with the process
} catch (const dr::Error& error) {
    std::fprintf(stderr, "detreduce: %s\n", error.what());
    return 1;
}
