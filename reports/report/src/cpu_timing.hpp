// Times candidates on the CPU, in turns: for the cost of sums, and of ops and shapes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cost_data.hpp"
#include "model.hpp"
#include "peers.hpp"
#include "progress.hpp"
#include "read_pass.hpp"
#include "statistics.hpp"

namespace detreduce::report {

template <class T>
struct Candidate {
    std::string name, variant;
    int threads;
    std::function<void(std::span<const T>)> run;
    std::string op = "sum", shape = "flat";
    std::vector<double> seconds = {};
    int batch = 1;
    /// In the place of run(): the seconds of so many passes over as many elements elsewhere;
    /// nothing where that failed.
    std::function<Metric(int)> elsewhere = {};
};

/// How often all take a turn: as often as the seconds allow, within limits.
struct Rounds {
    double seconds;
    int minimum, most;
};

/// Tells the compiler that the value is used, so that it computes it.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "m"(value) : "memory");
}

/// "1 thread", "8 threads"
[[nodiscard]] std::string threads_text(int threads);

/// The fastest of a few tries of each way to read these bytes: the yardstick should be as long as
/// it can be.
[[nodiscard]] ReadWay fastest_read(const void* data, std::size_t bytes, int threads);

template <class T>
[[nodiscard]] Candidate<T> read_candidate(std::span<const T> data, int threads, std::string variant) {
    const ReadWay way = fastest_read(data.data(), data.size_bytes(), threads);
    return {read_name, std::move(variant), threads, [way, threads](std::span<const T> bytes) {
                keep(read_pass(bytes.data(), bytes.size_bytes(), way, threads));
            }};
}

/// Of one pass, the mean of so many; NaN where it failed.
template <class T>
double seconds_of(const Candidate<T>& c, std::span<const T> x, int times) {
    if (c.elsewhere) return c.elsewhere(times).value_or(NAN) / times;
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < times; ++i)
        c.run(x);
    return std::chrono::duration<double>(Clock::now() - start).count() / times;
}

/// Warms up, and makes each timed stretch long against the clock's resolution and the cost of
/// reading it. Returns what a stretch takes.
template <class T>
double choose_batch(Candidate<T>& c, std::span<const T> x) {
    constexpr double enough = 100e-6;
    seconds_of(c, x, 1);
    const double once = std::max(1e-9, seconds_of(c, x, 1)); // NaN: 1e-9
    c.batch = std::clamp(static_cast<int>(enough / once), 1, 1000);
    return once * c.batch;
}

/// Fills Candidate::seconds of all, and drops those that failed.
template <class T>
void time_in_turns(std::vector<Candidate<T>>& list, std::span<const T> x, const Rounds& limits,
                   const Progress& progress) {
    double round_seconds = 0;
    for (Candidate<T>& c : list) {
        progress.check_interrupt();
        round_seconds += choose_batch(c, x);
    }
    // While data can be in cache each call comes after one that is not timed: the candidate before
    // may have had other threads.
    const bool warm = x.size_bytes() <= (std::size_t{32} << 20);
    const auto rounds = static_cast<int>(std::clamp(limits.seconds / round_seconds, static_cast<double>(limits.minimum),
                                                    static_cast<double>(limits.most)));
    for (int round = 0; round < rounds; ++round) {
        progress.check_interrupt();
        for (const std::size_t i : order_of_turns(list.size(), round)) {
            if (warm) seconds_of(list[i], x, 1);
            list[i].seconds.push_back(seconds_of(list[i], x, list[i].batch));
        }
    }
    std::erase_if(list, [](const Candidate<T>& c) {
        return std::any_of(c.seconds.begin(), c.seconds.end(), [](double s) { return std::isnan(s); });
    });
}

/// What reading took, by threads, in seconds.
template <class T>
[[nodiscard]] std::vector<double> read_seconds(const std::vector<Candidate<T>>& list) {
    std::vector<double> reads;
    for (const Candidate<T>& c : list) {
        if (c.name != read_name) continue;
        reads.resize(std::max(reads.size(), static_cast<std::size_t>(c.threads) + 1), 0.0);
        reads[static_cast<std::size_t>(c.threads)] = median(c.seconds);
    }
    return reads;
}

/// 2^20 elements, over and over: more than a branch predictor remembers.
template <class T>
void fill(std::vector<T>& data, Data kind, std::uint64_t seed) {
    constexpr std::size_t pattern = std::size_t{1} << 20;
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = i < pattern ? element<T>(kind, seed, i, pattern) : data[i - pattern];
}

} // namespace detreduce::report
