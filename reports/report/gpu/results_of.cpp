// Runs a job on a GPU: data up, every run queued, results down.
#include "gpu.hpp"

#include "cuda_check.hpp"

namespace detreduce::report::gpu {
namespace {

template <class T>
std::vector<T> results(const Job& job, std::span<const T> data) {
    check(cudaSetDevice(job.device.index), "cudaSetDevice");
    const Plan plan = make_plan(
        {.method = job.method, .dtype = dtype_of<T>, .n = data.size(), .device = job.device, .launch = job.launch});
    check(plan.status(), "make_plan");
    const DeviceMemory memory((data.size() + job.misalignment) * sizeof(T));
    T* x = static_cast<T*>(memory.get()) + job.misalignment;
    check(cudaMemcpy(x, data.data(), data.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    // A copy from pageable memory may return before it has arrived, and the streams below do not wait for the default one.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const auto runs = static_cast<std::size_t>(job.runs);
    const DeviceMemory out(runs * sizeof(T));
    std::vector<OwnStream> streams(static_cast<std::size_t>(job.streams));
    std::vector<DeviceMemory> workspaces; // one a stream: runs of one stream follow each other
    for (int i = 0; i < job.streams; ++i)
        workspaces.emplace_back(plan.workspace_bytes());
    for (std::size_t i = 0; i < runs; ++i) {
        const std::size_t s = i % streams.size();
        check(run(plan, x, static_cast<T*>(out.get()) + i, workspaces[s].get(), streams[s].get()), "run");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<T> values(runs);
    check(cudaMemcpy(values.data(), out.get(), runs * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
}

} // namespace

std::vector<float> results_of(const Job& job, std::span<const float> data) {
    return results(job, data);
}
std::vector<double> results_of(const Job& job, std::span<const double> data) {
    return results(job, data);
}

} // namespace detreduce::report::gpu
