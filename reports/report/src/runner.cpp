#include "runner.hpp"

#include <cstring>
#include <new>

#include <fmt/format.h>
#include <omp.h>

#include "failure.hpp"
#include "gpu.hpp"
#include "own.hpp"

namespace detreduce::report {
namespace {

// A copy that starts `misalignment` elements past a 64-byte boundary.
class Copy {
  public:
    Copy(const Input& input, unsigned misalignment) {
        const std::size_t element = size_of(input.dtype), bytes = input.n * element, offset = misalignment * element;
        memory_ = static_cast<std::byte*>(::operator new (bytes + offset, std::align_val_t{64}));
        data_ = memory_ + offset;
        if (bytes > 0) std::memcpy(data_, input.data, bytes);
    }
    ~Copy() { ::operator delete (memory_, std::align_val_t{64}); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    [[nodiscard]] const void* data() const { return data_; }

  private:
    std::byte *memory_, *data_;
};

void run_method(const Job& job, const Input& input, DType output, void* results) {
    const Plan plan = plan_of(job, input, output);
    throw_if_error(plan.status());
    const std::size_t bytes = job.results_a_run() * size_of(output);
    for (int i = 0; i < job.runs; ++i)
        throw_if_error(run(plan, input.data, static_cast<std::byte*>(results) + static_cast<std::size_t>(i) * bytes));
}

// As many threads as a job asks for, in what uses as many as OpenMP has.
class OpenMpThreads {
  public:
    explicit OpenMpThreads(std::uint32_t asked) : before_(omp_get_max_threads()) {
        if (asked > 0) omp_set_num_threads(static_cast<int>(asked));
    }
    ~OpenMpThreads() { omp_set_num_threads(before_); }
    OpenMpThreads(const OpenMpThreads&) = delete;
    OpenMpThreads& operator=(const OpenMpThreads&) = delete;

  private:
    int before_;
};

void run_own(const Job& job, const Input& input, DType output, void* results) {
    const OpenMpThreads threads(job.launch.threads);
    for (int i = 0; i < job.runs; ++i)
        run_on_host(*job.own, input.data, input.n,
                    static_cast<std::byte*>(results) + static_cast<std::size_t>(i) * size_of(output));
}

void run_on_cpu(const Job& job, const Input& input, DType output, void* results) {
    return job.own ? run_own(job, input, output, results) : run_method(job, input, output, results);
}

} // namespace

Plan plan_of(const Job& job, const Input& input, DType output) {
    Request request{.method = job.method,
                    .dtype = input.dtype,
                    .output = output,
                    .n = input.n / job.results_a_run(),
                    .device = job.device,
                    .launch = job.launch};
    if (job.rows > 0) {
        request.shape = Shape::rows;
        request.groups = job.rows;
    }
    return make_plan(request);
}

void run_job(const Job& job, const Input& input, DType output, void* results) {
    try {
        if (job.device.backend == Backend::cuda) return gpu::run_job(job, input, output, results);
        // What is somebody's own is told where its data begins, so there it has to be true.
        const bool as_it_is = !job.own || reinterpret_cast<std::uintptr_t>(input.data) % 64 == 0;
        if (job.misalignment == 0 && as_it_is) return run_on_cpu(job, input, output, results);
        const Copy copy(input, job.misalignment);
        run_on_cpu(job, {input.dtype, copy.data(), input.n}, output, results);
    } catch (const Error& error) {
        throw program::Failure(
            fmt::format("{} of {} {} elements: {}", name(job.method), input.n, name(input.dtype), error.what()));
    }
}

void run_on(const Device& device, std::span<const HostArray> in, void* result, std::size_t result_bytes,
            std::size_t workspace_bytes, const Launched& launch) {
    if (device.backend == Backend::cuda) return gpu::run_on(device, in, result, result_bytes, workspace_bytes, launch);
    std::vector<const void*> arrays;
    for (const HostArray& a : in)
        arrays.push_back(a.data);
    std::vector<std::uint64_t> workspace((workspace_bytes + 7) / 8);
    const Status status = launch(arrays, result, workspace.data());
    if (!status.ok()) throw program::Failure(to_string(status));
}

} // namespace detreduce::report
