// Section 4 on the CPU: what each choice costs, beside a read-only pass of the same bytes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "cost_data.hpp"
#include "measure.hpp"
#include "own.hpp"
#include "read_pass.hpp"
#include "statistics.hpp"

namespace detreduce::report {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Data kinds[] = {Data::normal, Data::wide};

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

std::string threads_text(int threads) {
    return threads == 1 ? "1 thread" : fmt::format("{} threads", threads);
}

template <class T>
Candidate<T> method_candidate(Method method, int threads, Isa isa = Isa::automatic) {
    const Launch launch{.threads = static_cast<std::uint32_t>(threads), .isa = isa};
    const std::string suffix = isa == Isa::automatic ? "" : fmt::format(", {}", name(isa));
    return {std::string(name(method)), threads_text(threads) + suffix, threads,
            [=](std::span<const T> x) { keep(sum(x, method, launch)); }};
}

// What the standard library and OpenMP have: in order, in an order of their own, and in whatever order threads are done.
template <class T>
void add_peers(bool openmp, std::vector<Candidate<T>>& list) {
    if constexpr (sizeof(T) >= 4) { // C++20 has no arithmetic for the others
        if (!openmp) {
            list.push_back({"std::accumulate", threads_text(1), 1,
                            [](std::span<const T> x) { keep(std::accumulate(x.begin(), x.end(), T(0))); }});
            list.push_back({"std::reduce", threads_text(1), 1,
                            [](std::span<const T> x) { keep(std::reduce(x.begin(), x.end(), T(0))); }});
            return;
        }
        const int threads = cpu_threads();
        list.push_back({"OpenMP reduction(+)", threads_text(threads), threads, [threads](std::span<const T> x) {
                            const auto n = static_cast<std::int64_t>(x.size());
                            const T* const p = x.data();
                            T sum = 0;
#pragma omp parallel for simd reduction(+ : sum) num_threads(threads)
                            for (std::int64_t k = 0; k < n; ++k)
                                sum += p[k];
                            keep(sum);
                        }});
    }
}

// Those that use OpenMP's threads, or the others.
template <class T>
void add_own(const Options& options, bool openmp, std::vector<Candidate<T>>& list) {
    const int threads = openmp ? cpu_threads() : 1;
    for (const OwnReduction* own : own_here(options, dtype_of<T>)) {
        if (!own->host || own->claims.openmp != openmp) continue;
        list.push_back({own->name, threads_text(threads), threads, [own](std::span<const T> x) {
                            accuracy::ResultOf<T> result;
                            run_on_host(*own, x.data(), x.size(), &result);
                            keep(result);
                        }});
    }
}

// One thread: exact with each instruction set, and whatever there is to compare with.
template <class T>
void add_single(const Options& options, Data kind, std::vector<Candidate<T>>& list) {
    for (const Isa isa : available_isas())
        list.push_back(method_candidate<T>(Method::exact, 1, isa));
    if (kind != Data::normal) return; // what the others cost does not depend on the data
    for (const MethodInfo& m : measured_methods(options))
        if (m.on_cpu && m.method != Method::exact) list.push_back(method_candidate<T>(m.method, 1));
    add_peers(false, list);
}

template <class T>
void add_several(const Options& options, Data kind, std::vector<Candidate<T>>& list) {
    for (const MethodInfo& m : measured_methods(options))
        if (m.on_cpu && m.method != Method::serial && (kind == Data::normal || m.method == Method::exact))
            list.push_back(method_candidate<T>(m.method, cpu_threads()));
    if (kind == Data::normal) add_peers(true, list);
}

template <class T>
std::vector<Candidate<T>> candidates(const Options& options, std::span<const T> data, Data kind) {
    std::vector<Candidate<T>> list{read_candidate<T>(data, 1, threads_text(1))};
    add_single(options, kind, list);
    add_own(options, false, list);
    const int all = cpu_threads();
    if (all > 1) {
        list.push_back(read_candidate<T>(data, all, threads_text(all)));
        add_several(options, kind, list);
    }
    add_own(options, true, list);
    return list;
}

template <class T>
double seconds_of(const Candidate<T>& c, std::span<const T> x) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < c.batch; ++i)
        c.run(x);
    return std::chrono::duration<double>(Clock::now() - start).count() / c.batch;
}

// Warms up, and makes each timed stretch long against the clock's resolution and the cost of reading it. Returns what a stretch takes.
template <class T>
double choose_batch(Candidate<T>& c, std::span<const T> x) {
    constexpr double enough = 100e-6;
    seconds_of(c, x);
    const double once = std::max(seconds_of(c, x), 1e-9);
    c.batch = std::clamp(static_cast<int>(enough / once), 1, 1000);
    return once * c.batch;
}

// As many rounds as fit in the time, within limits.
int rounds_for(double seconds_a_round, bool quick) {
    const double rounds = (quick ? 0.5 : 10.0) / seconds_a_round;
    return static_cast<int>(std::clamp(rounds, quick ? 3.0 : 5.0, quick ? 20.0 : 50.0));
}

template <class T>
void append_rows(const std::vector<Candidate<T>>& list, Data kind, std::span<const T> x, std::vector<CostRow>& rows) {
    std::vector<double> reads(static_cast<std::size_t>(cpu_threads()) + 1, 0.0); // seconds, by threads
    for (const Candidate<T>& c : list)
        if (c.name == "read") reads[static_cast<std::size_t>(c.threads)] = median(c.seconds);
    for (const Candidate<T>& c : list) {
        const double time = median(c.seconds), bytes = static_cast<double>(x.size_bytes());
        rows.push_back({std::string(name(dtype_of<T>)), c.name, c.variant, "cpu", std::string(name(kind)), x.size(),
                        x.size_bytes(), static_cast<std::int64_t>(c.seconds.size()), time,
                        relative_deviation(c.seconds), bytes / time / 1e9,
                        reads[static_cast<std::size_t>(c.threads)] / time});
    }
}

template <class T>
void measure_size(const Options& options, std::span<const T> x, Data kind, const Progress& progress,
                  std::vector<CostRow>& rows) {
    std::vector<Candidate<T>> list = candidates(options, x, kind);
    double round_seconds = 0;
    for (Candidate<T>& c : list)
        round_seconds += choose_batch(c, x);
    // While data can be in cache each call comes after one that is not timed: the candidate before may have had other
    // threads.
    const bool warm = x.size_bytes() <= (std::size_t{32} << 20);
    const int rounds = rounds_for(round_seconds, options.quick);
    for (int round = 0; round < rounds; ++round) {
        progress.check_interrupt();
        for (const std::size_t i : order_of_turns(list.size(), round)) {
            if (warm) list[i].run(x);
            list[i].seconds.push_back(seconds_of(list[i], x));
        }
    }
    append_rows(list, kind, x, rows);
}

// 2^20 elements, over and over: more than a branch predictor remembers.
template <class T>
void fill(std::vector<T>& data, Data kind, std::uint64_t seed) {
    constexpr std::size_t pattern = std::size_t{1} << 20;
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = i < pattern ? element<T>(kind, seed, i, pattern) : data[i - pattern];
}

// From memory, on any processor. 16-bit elements are slow on a CPU: less will do for a quick look.
std::uint64_t largest_n(const Options& options, std::size_t element) {
    return std::min((std::uint64_t{options.quick && element == 2 ? 32u : 256u} << 20) / element, options.largest_n);
}

// Normal data of every size; data that is not kind to `exact` in cache and from memory.
std::vector<std::uint64_t> sizes_of(Data kind, const Options& options, std::size_t element) {
    const std::uint64_t last = largest_n(options, element);
    std::vector<std::uint64_t> sizes;
    if (last > std::uint64_t{1} << 16) sizes.push_back(std::uint64_t{1} << 16);
    if (!options.quick && kind == Data::normal)
        for (std::uint64_t n = std::uint64_t{1} << 17; n < last; n *= 2)
            sizes.push_back(n);
    sizes.push_back(last);
    return sizes;
}

template <class T>
void measure_dtype(const Options& options, Progress& progress, std::vector<CostRow>& rows) {
    if (!is_measured(options, dtype_of<T>)) return;
    std::vector<T> data(largest_n(options, sizeof(T)));
    for (const Data kind : kinds) {
        fill(data, kind, options.seed);
        for (const std::uint64_t n : sizes_of(kind, options, sizeof(T))) {
            progress.step(fmt::format("{} {} n = {}", name(dtype_of<T>), name(kind), n));
            measure_size(options, std::span<const T>(data).first(n), kind, progress, rows);
        }
    }
}

} // namespace

int cpu_threads() {
    const detreduce::Plan plan = make_plan({.dtype = DType::f32, .n = max_n, .device = cpu});
    return plan.status().ok() ? static_cast<int>(plan.launch().threads) : 1;
}

void measure_cost_on_cpu(const Options& options, Progress& progress, Results& results) {
    std::size_t steps = 0;
    for (const DType dtype : measured_dtypes(options))
        for (const Data kind : kinds)
            steps += sizes_of(kind, options, size_of(dtype)).size();
    progress.begin("cost", static_cast<int>(steps));
    measure_dtype<float16>(options, progress, results.cost);
    measure_dtype<bfloat16>(options, progress, results.cost);
    measure_dtype<float>(options, progress, results.cost);
    measure_dtype<double>(options, progress, results.cost);
}

} // namespace detreduce::report
