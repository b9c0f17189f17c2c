// Runs a job on a GPU: data up, every run queued, results down.
#include "gpu.hpp"

#include "cuda_check.hpp"

namespace detreduce::report::gpu {

void run_job(const Job& job, const Input& input, DType output, void* results) {
    check(cudaSetDevice(job.device.index), "cudaSetDevice");
    const Plan plan = make_plan({.method = job.method,
                                 .dtype = input.dtype,
                                 .output = output,
                                 .n = input.n,
                                 .device = job.device,
                                 .launch = job.launch});
    check(plan.status(), "make_plan");
    const std::size_t bytes = input.n * size_of(input.dtype), offset = job.misalignment * size_of(input.dtype);
    const DeviceMemory memory(bytes + offset);
    std::byte* x = static_cast<std::byte*>(memory.get()) + offset;
    check(cudaMemcpy(x, input.data, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    // A copy from pageable memory may return before it has arrived, and the streams below do not wait for the default one.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const auto runs = static_cast<std::size_t>(job.runs);
    const DeviceMemory out(runs * size_of(output));
    std::vector<OwnStream> streams(static_cast<std::size_t>(job.streams));
    std::vector<DeviceMemory> workspaces; // one a stream: runs of one stream follow each other
    for (int i = 0; i < job.streams; ++i)
        workspaces.emplace_back(plan.workspace_bytes());
    for (std::size_t i = 0; i < runs; ++i) {
        const std::size_t s = i % streams.size();
        check(run(plan, x, static_cast<std::byte*>(out.get()) + i * size_of(output), workspaces[s].get(),
                  streams[s].get()),
              "run");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(results, out.get(), runs * size_of(output), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void run_split(const Device& device, const Split& split, const Input& input, DType output, void* result) {
    check(cudaSetDevice(device.index), "cudaSetDevice");
    const std::size_t element = size_of(input.dtype), pieces = split.cuts.size() - 1;
    const DeviceMemory x(input.n * element), states(pieces * sizeof(ExactState)), out(size_of(output));
    check(cudaMemcpy(x.get(), input.data, input.n * element, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemset(states.get(), 0, pieces * sizeof(ExactState)), "cudaMemset"); // empty sums
    auto* state = static_cast<ExactState*>(states.get());
    for (std::size_t i = 0; i < pieces; ++i)
        check(cuda::add(state + i, input.dtype, static_cast<const std::byte*>(x.get()) + split.cuts[i] * element,
                        split.cuts[i + 1] - split.cuts[i]),
              "cuda::add");
    for (const auto& [to, from] : split.merges)
        check(cuda::merge(state + to, state + from), "cuda::merge");
    check(cuda::round(state + split.last, output, out.get()), "cuda::round");
    check(cudaMemcpy(result, out.get(), size_of(output), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void run_on(const Device& device, std::span<const HostArray> in, void* result, std::size_t result_bytes,
            std::size_t workspace_bytes, const Launched& launch) {
    check(cudaSetDevice(device.index), "cudaSetDevice");
    std::vector<DeviceMemory> memory;
    std::vector<const void*> arrays;
    for (const HostArray& a : in) {
        memory.emplace_back(a.bytes);
        check(cudaMemcpy(memory.back().get(), a.data, a.bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        arrays.push_back(memory.back().get());
    }
    const DeviceMemory out(result_bytes), workspace(workspace_bytes);
    check(launch(arrays, out.get(), workspace.get()), "run"); // on the default stream, after the copies
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(result, out.get(), result_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

} // namespace detreduce::report::gpu
