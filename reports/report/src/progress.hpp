// A progress bar on standard error when that is a terminal; nothing otherwise.
#pragma once

#include <chrono>
#include <string>

namespace detreduce::report {

class Progress {
  public:
    explicit Progress(bool shown) : shown_(shown) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Is standard error a terminal?
    [[nodiscard]] static bool wanted();

    /// The next part of the work, of so many steps.
    void begin(std::string part, int steps);
    /// One step is about to start.
    void step(const std::string& what);
    /// Removes the bar, so that other output can follow.
    void clear();

  private:
    void draw(const std::string& what);

    bool shown_;
    std::string part_;
    int done_ = 0, steps_ = 0;
    std::chrono::steady_clock::time_point drawn_{};
};

} // namespace detreduce::report
