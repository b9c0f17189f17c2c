// Who is timed on the CPU: the read-only pass, each method, what there is to compare with, and reductions of somebody's own.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cost_data.hpp"
#include "measure.hpp"
#include "numpy_peer.hpp"

namespace detreduce::report {

template <class T>
struct Candidate {
    std::string name, variant;
    int threads;
    std::function<void(std::span<const T>)> run;
    /// In the place of run(): the seconds of so many sums of as many elements elsewhere; nothing where that failed.
    std::function<Metric(int)> elsewhere = {};
    std::vector<double> seconds = {};
    int batch = 1;
};

/// Those for that data; `numpy` outlives them.
template <class T>
[[nodiscard]] std::vector<Candidate<T>> candidates(const Options& options, std::span<const T> data, Data kind,
                                                   NumpyPeer& numpy);

} // namespace detreduce::report
