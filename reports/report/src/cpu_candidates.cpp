#include "cpu_candidates.hpp"

#include <chrono>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "own.hpp"
#include "peers.hpp"
#include "read_pass.hpp"

namespace detreduce::report {
namespace {

using Clock = std::chrono::steady_clock;

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
    return {read_name, std::move(variant), threads, [way, threads](std::span<const T> bytes) {
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
            list.push_back({accumulate_name, threads_text(1), 1,
                            [](std::span<const T> x) { keep(std::accumulate(x.begin(), x.end(), T(0))); }});
            list.push_back({reduce_name, threads_text(1), 1,
                            [](std::span<const T> x) { keep(std::reduce(x.begin(), x.end(), T(0))); }});
            return;
        }
        const int threads = cpu_threads();
        list.push_back({openmp_name, threads_text(threads), threads, [threads](std::span<const T> x) {
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

} // namespace

template <class T>
std::vector<Candidate<T>> candidates(const Options& options, std::span<const T> data, Data kind, NumpyPeer& numpy) {
    std::vector<Candidate<T>> list{read_candidate<T>(data, 1, threads_text(1))};
    add_single(options, kind, list);
    if (kind == Data::normal && numpy.prepare(dtype_of<T>, data.size()))
        list.push_back(
            {numpy_name, fmt::format("{}, NumPy {}", threads_text(1), numpy.version()), 1, {}, [&numpy](int times) {
                 return numpy.seconds(times);
             }});
    add_own(options, false, list);
    const int all = cpu_threads();
    if (all > 1) {
        list.push_back(read_candidate<T>(data, all, threads_text(all)));
        add_several(options, kind, list);
    }
    add_own(options, true, list);
    return list;
}

template std::vector<Candidate<float16>> candidates(const Options&, std::span<const float16>, Data, NumpyPeer&);
template std::vector<Candidate<bfloat16>> candidates(const Options&, std::span<const bfloat16>, Data, NumpyPeer&);
template std::vector<Candidate<float>> candidates(const Options&, std::span<const float>, Data, NumpyPeer&);
template std::vector<Candidate<double>> candidates(const Options&, std::span<const double>, Data, NumpyPeer&);

} // namespace detreduce::report
