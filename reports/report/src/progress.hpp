// A progress bar on standard error when that is a terminal, with an estimate of what remains; else
// a line a part on standard output. Each step is also where Ctrl-C ends measuring.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace detreduce::report {

class Progress {
  public:
    using Clock = std::chrono::steady_clock;

    enum class Shown { nothing, lines, bar };

    explicit Progress(Shown shown) : shown_(shown) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// The bar where standard error is a terminal, else lines.
    [[nodiscard]] static Shown wanted();

    /// All the work to come: the share of the time that each part will take, in the order of
    /// begin(). Without it the estimate is of one part.
    void expect(std::vector<double> shares);
    /// The next part of the work, of so many steps that are `work` in all, in whatever unit; 0:
    /// every step is 1.
    void begin(std::string part, int steps, double work = 0);
    /// One step is about to start. Throws program::Interrupted when the user pressed Ctrl-C.
    void step(const std::string& what, double work = 1);
    /// Throws that within a long step.
    void check_interrupt() const;
    /// Removes the bar, so that other output can follow.
    void clear();

    /// The part and the step that began last: "determinism, f32 tree permutations".
    [[nodiscard]] std::string position() const;

    /// What part of all work is done, 0 … 1, by the expected shares.
    [[nodiscard]] double done() const;

  private:
    void draw();
    void print_line() const;
    /// "about 12 s left"; empty when it is too early to say.
    [[nodiscard]] std::string estimate() const;

    Shown shown_;
    std::string part_, what_;
    std::vector<double> shares_ = {1};
    std::size_t begun_ = 0; ///< parts
    int begun_steps_ = 0, steps_ = 1;
    double finished_ = 0, current_ = 0, work_ = 1; ///< work of this part
    Clock::time_point start_ = Clock::now(), drawn_{};
};

/// "12 s", "3 min": what remains of the work when a `done` part of it, 0 … 1, took `seconds`; empty
/// when it is too early to say.
[[nodiscard]] std::string time_left(double done, double seconds);

} // namespace detreduce::report
