// Section 4 on the CPU: what each choice costs, beside a read-only pass of the same bytes.
#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "cpu_candidates.hpp"
#include "own.hpp"
#include "peers.hpp"
#include "statistics.hpp"

namespace detreduce::report {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Data kinds[] = {Data::normal, Data::wide};

// Of one sum, the mean of so many; NaN where it failed.
template <class T>
double seconds_of(const Candidate<T>& c, std::span<const T> x, int times) {
    if (c.elsewhere) return c.elsewhere(times).value_or(NAN) / times;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < times; ++i)
        c.run(x);
    return std::chrono::duration<double>(Clock::now() - start).count() / times;
}

// Warms up, and makes each timed stretch long against the clock's resolution and the cost of reading it. Returns what a stretch takes.
template <class T>
double choose_batch(Candidate<T>& c, std::span<const T> x) {
    constexpr double enough = 100e-6;
    seconds_of(c, x, 1);
    const double once = std::max(1e-9, seconds_of(c, x, 1)); // NaN: 1e-9
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
        if (c.name == read_name) reads[static_cast<std::size_t>(c.threads)] = median(c.seconds);
    for (const Candidate<T>& c : list) {
        const double time = median(c.seconds), bytes = static_cast<double>(x.size_bytes());
        rows.push_back({std::string(name(dtype_of<T>)), c.name, c.variant, "cpu", std::string(name(kind)), x.size(),
                        x.size_bytes(), static_cast<std::int64_t>(c.seconds.size()), time,
                        relative_deviation(c.seconds), bytes / time / 1e9,
                        reads[static_cast<std::size_t>(c.threads)] / time});
    }
}

template <class T>
void measure_size(const Options& options, std::span<const T> x, Data kind, const Progress& progress, NumpyPeer& numpy,
                  std::vector<CostRow>& rows) {
    std::vector<Candidate<T>> list = candidates(options, x, kind, numpy);
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
            if (warm) seconds_of(list[i], x, 1);
            list[i].seconds.push_back(seconds_of(list[i], x, list[i].batch));
        }
    }
    std::erase_if(list, [](const Candidate<T>& c) {
        return std::any_of(c.seconds.begin(), c.seconds.end(), [](double s) { return std::isnan(s); });
    });
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
void measure_dtype(const Options& options, Progress& progress, NumpyPeer& numpy, std::vector<CostRow>& rows) {
    if (!is_measured(options, dtype_of<T>)) return;
    std::vector<T> data(largest_n(options, sizeof(T)));
    for (const Data kind : kinds) {
        fill(data, kind, options.seed);
        for (const std::uint64_t n : sizes_of(kind, options, sizeof(T))) {
            progress.step(fmt::format("{} {} n = {}", name(dtype_of<T>), name(kind), n));
            measure_size(options, std::span<const T>(data).first(n), kind, progress, numpy, rows);
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
    NumpyPeer numpy(progress, results.provenance.notes);
    measure_dtype<float16>(options, progress, numpy, results.cost);
    measure_dtype<bfloat16>(options, progress, numpy, results.cost);
    measure_dtype<float>(options, progress, numpy, results.cost);
    measure_dtype<double>(options, progress, numpy, results.cost);
}

} // namespace detreduce::report
