#include "cpu_timing.hpp"

#include <cmath>

#include <fmt/format.h>

namespace detreduce::report {

ReadWay fastest_read(const void* data, std::size_t bytes, int threads) {
    using Clock = std::chrono::steady_clock;
    ReadWay best;
    double best_seconds = INFINITY;
    for (int round = 0; round < 4; ++round) {
        for (const ReadWay way : read_ways()) {
            const Clock::time_point start = Clock::now();
            keep(read_pass(data, bytes, way, threads));
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            if (round > 0 && seconds < best_seconds) best_seconds = seconds, best = way; // the first round warms up
        }
    }
    return best;
}

std::string threads_text(int threads) {
    return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

} // namespace detreduce::report
