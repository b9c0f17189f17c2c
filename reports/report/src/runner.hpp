// Runs one method on data in host memory, on the CPU or a GPU, and gives its results: what the
// error and determinism sections need.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <detreduce/accuracy/study.hpp>
#include <detreduce/detreduce.hpp>

namespace detreduce::report {

/// How to run: one method, or a reduction of somebody's own, somewhere, `runs` times.
struct Job {
    Method method = Method::tree;
    Device device;
    Launch launch;
    int runs = 1;
    int streams = 1;           ///< CUDA: runs are spread over so many streams
    unsigned misalignment = 0; ///< the data starts so many elements past an aligned address
    std::uint64_t rows = 0;    ///< the data is a matrix of so many rows, each summed alone; 0: one flat sum
    bool graph = false;        ///< CUDA: captured in a graph, which is replayed once a run
    bool loaded = false;       ///< CUDA: while a further stream keeps the GPU busy
    const accuracy::OwnReduction* own = nullptr; ///< this one, and no method

    [[nodiscard]] std::size_t results_a_run() const { return rows == 0 ? 1 : rows; }
};

[[nodiscard]] inline std::string_view name_of(const Job& job) {
    return job.own ? std::string_view(job.own->name) : name(job.method);
}

/// Elements in host memory.
struct Input {
    DType dtype;
    const void* data;
    std::uint64_t n;
};
template <class T>
[[nodiscard]] Input input_of(std::span<const T> data) {
    return {dtype_of<T>, data.data(), data.size()};
}

/// Writes results_a_run() results of dtype `output` a run to `results`. Throws program::Failure
/// when the library refuses or fails.
void run_job(const Job& job, const Input& input, DType output, void* results);

/// What both backends make of it.
[[nodiscard]] Plan plan_of(const Job& job, const Input& input, DType output);

/// A way to a sum by parts: piece i is the elements from cuts[i] to cuts[i + 1] and makes a state
/// of its own; each merge adds the state of its second piece to that of its first, in this order,
/// until piece `last` holds all.
struct Split {
    std::vector<std::uint64_t> cuts;
    std::vector<std::pair<std::size_t, std::size_t>> merges;
    std::size_t last = 0;
};
[[nodiscard]] Split random_split(std::uint64_t n, std::size_t pieces, std::uint64_t seed);
/// Pieces of one length, or one more, merged into the first in their order.
[[nodiscard]] Split even_split(std::uint64_t n, std::size_t pieces);

/// The sum by those parts, in ExactStates on that device, as dtype `output`.
void run_split(const Device& device, const Split& split, const Input& input, DType output, void* result);

/// The results of one run after those of the other.
template <class T, class Out = T>
[[nodiscard]] std::vector<Out> results_of(const Job& job, std::span<const T> data) {
    std::vector<Out> results(static_cast<std::size_t>(job.runs) * job.results_a_run());
    run_job(job, input_of(data), dtype_of<Out>, results.data());
    return results;
}

/// An array in host memory.
struct HostArray {
    const void* data;
    std::size_t bytes;
};
/// Calls the library with arrays, room for a result and a workspace, all in the device's memory.
using Launched = std::function<Status(std::span<const void* const> in, void* out, void* workspace)>;

/// Takes the arrays to the device, runs there, and brings the result back. Throws program::Failure
/// when the library refuses or fails.
void run_on(const Device& device, std::span<const HostArray> in, void* result, std::size_t result_bytes,
            std::size_t workspace_bytes, const Launched& launch);

} // namespace detreduce::report
