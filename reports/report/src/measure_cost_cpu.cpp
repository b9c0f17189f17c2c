// Section 3 on the CPU: what each choice costs, beside a read-only pass of the same bytes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/detreduce.hpp>

#include "measure.hpp"
#include "read_pass.hpp"
#include "statistics.hpp"

namespace detreduce::report {
namespace {

using Clock = std::chrono::steady_clock;

template <class T>
struct Candidate {
    std::string name, variant;
    int threads;
    std::function<void(std::span<const T>)> run;
    std::vector<double> seconds = {};
    int batch = 1;
};

// Tells the compiler that the value is used, so that it computes it.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "m"(value) : "memory");
}

// The fastest of a few tries of each way to read these bytes: the yardstick should be as long as it can be.
ReadWay fastest_read(const void* data, std::size_t bytes, int threads) {
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

template <class T>
Candidate<T> read_candidate(std::span<const T> data, int threads, std::string variant) {
    const ReadWay way = fastest_read(data.data(), data.size_bytes(), threads);
    return {"read", std::move(variant), threads, [way, threads](std::span<const T> bytes) {
                keep(read_pass(bytes.data(), bytes.size_bytes(), way, threads));
            }};
}

template <class T>
Candidate<T> method_candidate(Method method, int threads, std::string variant) {
    const Launch launch{.threads = static_cast<std::uint32_t>(threads)};
    return {std::string(name(method)), std::move(variant), threads,
            [=](std::span<const T> x) { keep(sum(x, method, launch)); }};
}

// One thread each; all threads as well for what can use them.
template <class T>
std::vector<Candidate<T>> candidates(std::span<const T> data) {
    const int all = cpu_threads();
    std::vector<Candidate<T>> list;
    for (const int threads : {1, all}) {
        if (threads == 1 && !list.empty()) break; // a machine with one thread
        const std::string variant = threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
        list.push_back(read_candidate<T>(data, threads, variant));
        for (const MethodInfo& m : methods())
            if (m.on_cpu && (threads == 1 || m.method != Method::serial))
                list.push_back(method_candidate<T>(m.method, threads, variant));
        if (threads == 1)
            list.push_back({"std::accumulate", variant, 1,
                            [](std::span<const T> x) { keep(std::accumulate(x.begin(), x.end(), T(0))); }});
    }
    return list;
}

template <class T>
double seconds_of(const Candidate<T>& c, std::span<const T> x) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < c.batch; ++i)
        c.run(x);
    return std::chrono::duration<double>(Clock::now() - start).count() / c.batch;
}

// Warms up, and makes each timed stretch long against the clock's resolution and the cost of reading it.
template <class T>
void choose_batch(Candidate<T>& c, std::span<const T> x) {
    constexpr double enough = 100e-6;
    seconds_of(c, x);
    const double once = std::max(seconds_of(c, x), 1e-9);
    c.batch = std::clamp(static_cast<int>(enough / once), 1, 1000);
}

template <class T>
void measure_size(std::span<const T> x, int repeats, std::vector<CostRow>& rows) {
    std::vector<Candidate<T>> list = candidates(x);
    for (Candidate<T>& c : list)
        choose_batch(c, x);
    // While data can be in cache each call comes after one that is not timed: the candidate before may have had other
    // threads.
    const bool warm = x.size_bytes() <= (std::size_t{32} << 20);
    for (int round = 0; round < repeats; ++round) {
        for (const std::size_t i : order_of_turns(list.size(), round)) {
            if (warm) list[i].run(x);
            list[i].seconds.push_back(seconds_of(list[i], x));
        }
    }
    std::vector<double> reads(static_cast<std::size_t>(cpu_threads()) + 1, 0.0); // seconds, by threads
    for (const Candidate<T>& c : list)
        if (c.name == "read") reads[static_cast<std::size_t>(c.threads)] = median(c.seconds);
    for (const Candidate<T>& c : list) {
        const double time = median(c.seconds), bytes = static_cast<double>(x.size_bytes());
        rows.push_back({std::string(name(dtype_of<T>)), c.name, c.variant, "cpu", x.size(), x.size_bytes(), repeats,
                        time, relative_deviation(c.seconds), bytes / time / 1e9,
                        reads[static_cast<std::size_t>(c.threads)] / time});
    }
}

template <class T>
void measure_dtype(const Options& options, Progress& progress, const std::vector<std::uint64_t>& sizes,
                   std::vector<CostRow>& rows) {
    const std::size_t most = (std::size_t{256} << 20) / sizeof(T);
    std::vector<T> data(most);
    const std::vector<T> pattern = accuracy::generate<T>(accuracy::Family::uniform, std::size_t{1} << 16, options.seed);
    for (std::size_t i = 0; i < most; ++i)
        data[i] = pattern[i % pattern.size()]; // times do not depend on the values
    for (const std::uint64_t n : sizes) {
        progress.step(fmt::format("{} n = {}", name(dtype_of<T>), n));
        measure_size(std::span<const T>(data).first(std::min<std::size_t>(n, most)), options.quick ? 20 : 50, rows);
    }
}

std::vector<std::uint64_t> sizes_of(bool quick, std::size_t element) {
    const std::uint64_t last = (std::uint64_t{256} << 20) / element; // 256 MiB
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t n = std::uint64_t{1} << 16; n < last; n *= quick ? 8 : 2)
        sizes.push_back(n);
    sizes.push_back(last);
    return sizes;
}

} // namespace

int cpu_threads() {
    const detreduce::Plan plan = make_plan({.dtype = DType::f32, .n = 1, .device = cpu});
    return plan.status().ok() ? static_cast<int>(plan.launch().threads) : 1;
}

std::vector<CostRow> measure_cost_on_cpu(const Options& options, Progress& progress) {
    const auto f32 = sizes_of(options.quick, 4), f64 = sizes_of(options.quick, 8);
    progress.begin("cost", static_cast<int>(f32.size() + f64.size()));
    std::vector<CostRow> rows;
    measure_dtype<float>(options, progress, f32, rows);
    measure_dtype<double>(options, progress, f64, rows);
    return rows;
}

} // namespace detreduce::report
