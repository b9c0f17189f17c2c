#include "runner.hpp"

#include <new>

#include <fmt/format.h>

#include "command.hpp"
#include "gpu.hpp"

namespace detreduce::report {
namespace {

// A copy that starts `misalignment` elements past a 64-byte boundary.
template <class T>
class Copy {
  public:
    Copy(std::span<const T> data, unsigned misalignment)
        : memory_(static_cast<T*>(::operator new ((data.size() + misalignment) * sizeof(T), std::align_val_t{64}))),
          view_(memory_ + misalignment, data.size()) {
        std::copy(data.begin(), data.end(), memory_ + misalignment);
    }
    ~Copy() { ::operator delete (memory_, std::align_val_t{64}); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    [[nodiscard]] std::span<const T> view() const { return view_; }

  private:
    T* memory_;
    std::span<const T> view_;
};

template <class T>
std::vector<T> results_on_cpu(const Job& job, std::span<const T> data) {
    std::vector<T> results;
    for (int i = 0; i < job.runs; ++i)
        results.push_back(sum(data, job.method, job.launch));
    return results;
}

} // namespace

template <class T>
std::vector<T> results_of(const Job& job, std::span<const T> data) {
    try {
        if (job.device.backend == Backend::cuda) return gpu::results_of(job, data);
        if (job.misalignment == 0) return results_on_cpu(job, data);
        return results_on_cpu(job, Copy<T>(data, job.misalignment).view());
    } catch (const Error& error) {
        throw program::Failure(
            fmt::format("{} of {} {} elements: {}", name(job.method), data.size(), name(dtype_of<T>), error.what()));
    }
}

template std::vector<float> results_of(const Job&, std::span<const float>);
template std::vector<double> results_of(const Job&, std::span<const double>);

} // namespace detreduce::report
