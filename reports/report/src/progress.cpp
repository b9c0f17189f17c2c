#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <unistd.h>

#include <fmt/format.h>

#include "failure.hpp"
#include "interrupt.hpp"

namespace detreduce::report {

Progress::Shown Progress::wanted() {
    return ::isatty(STDERR_FILENO) != 0 ? Shown::bar : Shown::lines;
}

void Progress::expect(std::vector<double> shares) {
    shares_ = std::move(shares);
    begun_ = 0;
    start_ = Clock::now();
}

void Progress::begin(std::string part, int steps, double work) {
    part_ = std::move(part);
    what_.clear();
    begun_steps_ = 0;
    steps_ = std::max(1, steps);
    finished_ = current_ = 0;
    work_ = work > 0 ? work : steps_;
    ++begun_;
    drawn_ = {};
    check_interrupt();
    if (shown_ == Shown::lines) print_line();
    draw();
}

void Progress::step(const std::string& what, double work) {
    check_interrupt();
    what_ = what;
    begun_steps_ = std::min(begun_steps_ + 1, steps_);
    finished_ = std::min(finished_ + current_, work_);
    current_ = work;
    const auto now = Clock::now();
    if (now - drawn_ < std::chrono::milliseconds(50)) return;
    drawn_ = now;
    draw();
}

void Progress::check_interrupt() const {
    if (NoteInterrupt::noted()) throw program::Interrupted("interrupted by Ctrl-C");
}

std::string Progress::position() const {
    return what_.empty() ? part_ : part_ + ", " + what_;
}

double Progress::done() const {
    if (begun_ == 0 || begun_ > shares_.size()) return 0;
    const auto current = shares_.begin() + static_cast<std::ptrdiff_t>(begun_ - 1);
    const double before = std::accumulate(shares_.begin(), current, 0.0);
    const double all = std::accumulate(current, shares_.end(), before);
    return all > 0 ? (before + *current * finished_ / work_) / all : 0;
}

// fmt::print would throw when nobody reads any more, and the report is still to be written.
void Progress::print_line() const {
    const std::string left = estimate();
    const std::string line =
        fmt::format("{} of {}: {}{}{}\n", begun_, shares_.size(), part_, left.empty() ? "" : ", ", left);
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
}

std::string Progress::estimate() const {
    const std::string left = time_left(done(), std::chrono::duration<double>(Clock::now() - start_).count());
    return left.empty() ? "" : "about " + left + " left";
}

void Progress::draw() {
    if (shown_ != Shown::bar) return;
    constexpr int width = 28;
    const int filled = width * begun_steps_ / steps_;
    const std::string left = estimate();
    const std::string line = fmt::format("\r\033[K{:<12} [{:=<{}}{:<{}}] {}/{} {}{:.30}", part_, "", filled, "",
                                         width - filled, begun_steps_, steps_, left.empty() ? "" : left + "  ", what_);
    std::fputs(line.c_str(), stderr); // fmt::print would throw when the terminal goes away
    std::fflush(stderr);
}

void Progress::clear() {
    if (shown_ != Shown::bar) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

std::string time_left(double done, double seconds) {
    if (done < 0.02 || seconds < 1) return "";
    const double left = seconds * (1 - done) / done;
    if (left < 100) return fmt::format("{:.0f} s", std::max(1.0, std::ceil(left)));
    return fmt::format("{:.0f} min", std::ceil(left / 60));
}

} // namespace detreduce::report
