#include "progress.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

namespace detreduce::report {

bool Progress::wanted() {
    return ::isatty(STDERR_FILENO) != 0;
}

void Progress::begin(std::string part, int steps) {
    part_ = std::move(part);
    done_ = 0;
    steps_ = std::max(1, steps);
    drawn_ = {};
    draw("");
}

void Progress::step(const std::string& what) {
    done_ = std::min(done_ + 1, steps_);
    const auto now = std::chrono::steady_clock::now();
    if (now - drawn_ < std::chrono::milliseconds(50)) return;
    drawn_ = now;
    draw(what);
}

void Progress::draw(const std::string& what) {
    if (!shown_) return;
    constexpr int width = 28;
    const int filled = width * done_ / steps_;
    const std::string line = fmt::format("\r\033[K{:<12} [{:=<{}}{:<{}}] {}/{} {:.30}", part_, "", filled, "",
                                         width - filled, done_, steps_, what);
    std::fputs(line.c_str(), stderr); // fmt::print would throw when the terminal goes away
    std::fflush(stderr);
}

void Progress::clear() {
    if (!shown_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

} // namespace detreduce::report
