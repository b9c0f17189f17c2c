// numpy.sum, timed by a Python that lives beside this process for as long as it is asked.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <detreduce/types.hpp>

#include "child_process.hpp"
#include "model.hpp"
#include "progress.hpp"

namespace detreduce::report {

/// Where it is missing, fails or says nothing for longer than `patience`, a note says so, once, and
/// there are no times. Ctrl-C ends waiting, as a step of `progress` does.
class NumpyPeer {
  public:
    NumpyPeer(const Progress& progress, std::vector<std::string>& notes,
              std::chrono::milliseconds patience = std::chrono::minutes(1))
        : progress_(progress), notes_(notes), patience_(patience) {}

    /// Makes n elements of normal data; false where there is no NumPy, or it has no such dtype.
    [[nodiscard]] bool prepare(DType dtype, std::uint64_t n);

    /// NumPy's version, when something was prepared.
    [[nodiscard]] const std::string& version() const { return version_; }

    /// Seconds that so many sums of these elements take, one after the other; nothing where it
    /// failed.
    [[nodiscard]] Metric seconds(int times);

  private:
    void start();
    [[nodiscard]] std::string answer_to(const std::string& request);
    [[nodiscard]] std::string answer();
    void give_up(const std::string& why);

    const Progress& progress_;
    std::vector<std::string>& notes_;
    std::chrono::milliseconds patience_;
    std::unique_ptr<ChildProcess> python_;
    std::string version_, said_;
    bool given_up_ = false;
};

} // namespace detreduce::report
