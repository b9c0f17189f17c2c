// The mean of a loss of one's own on the GPU, with the bits of the CPU: one kernel reads both
// arrays once.
// Exit: 0 the GPU gave the CPU's bits, 1 it did not or a call failed, 77 there is no GPU here.
#include <cstdlib>
#include <string>

#include <detreduce/transform_reduce.cuh>

#include "loss.hpp"

namespace dr = detreduce;

static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

static float* copy_to_device(const std::vector<float>& x) {
    float* d = nullptr;
    check(cudaMalloc(&d, x.size() * sizeof(float)));
    check(cudaMemcpy(d, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
    return d;
}

int main() try {
    std::string why;
    if (dr::cuda::devices(&why).empty()) {
        std::printf("*** SKIPPED: no usable GPU here (%s); nothing was computed ***\n", why.c_str());
        return 77;
    }
    const std::vector<float> prediction = some_numbers(1), target = some_numbers(2);
    float* const d_prediction = copy_to_device(prediction);
    float* const d_target = copy_to_device(target);
    float* d_loss = nullptr;
    check(cudaMalloc(&d_loss, sizeof(float)));
    bool same = true;
    for (const dr::Method method : methods) {
        const dr::TransformOptions options{.method = method, .finalize = dr::Finalize::mean};
        float on_gpu = 0;
        // Enqueued; the workspace comes from the stream. With one of your own:
        // dr::cuda::TransformPlan and dr::cuda::transform_run.
        dr::throw_if_error(
            dr::cuda::transform_reduce(loss, d_prediction, d_target, prediction.size(), d_loss, options));
        check(cudaMemcpy(&on_gpu, d_loss, sizeof(float), cudaMemcpyDeviceToHost));
        const std::uint32_t gpu = show(method, "GPU", on_gpu),
                            cpu = show(method, "CPU", dr::transform_reduce(loss, prediction, target, options));
        same = same && gpu == cpu;
    }
    std::puts(same ? "the same bits" : "DIFFERENT BITS");
    check(cudaFree(d_loss));
    check(cudaFree(d_target));
    check(cudaFree(d_prediction));
    return same ? 0 : 1;
} catch (const dr::Error& error) {
    std::fprintf(stderr, "detreduce: %s\n", error.what());
    return 1;
}
