// Runs one method on data in host memory, on the CPU or a GPU, and gives its results: what the error and determinism
// sections need.
#pragma once

#include <span>
#include <vector>

#include <detreduce/detreduce.hpp>

namespace detreduce::report {

/// How to run: one method, somewhere, `runs` times.
struct Job {
    Method method = Method::tree;
    Device device;
    Launch launch;
    int runs = 1;
    int streams = 1;           ///< CUDA: runs are spread over so many streams
    unsigned misalignment = 0; ///< the data starts so many elements past an aligned address
};

/// One result a run. Throws program::Failure when the library refuses or fails.
template <class T>
[[nodiscard]] std::vector<T> results_of(const Job& job, std::span<const T> data);

extern template std::vector<float> results_of(const Job&, std::span<const float>);
extern template std::vector<double> results_of(const Job&, std::span<const double>);

} // namespace detreduce::report
