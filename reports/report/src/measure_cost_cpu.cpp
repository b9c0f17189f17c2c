// Section 4 on the CPU: what each choice costs, beside a read-only pass of the same bytes.
#include <numeric>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "cpu_timing.hpp"
#include "measure.hpp"
#include "numpy_peer.hpp"
#include "own.hpp"
#include "peers.hpp"

namespace detreduce::report {
namespace {

constexpr Data kinds[] = {Data::normal, Data::wide, Data::adversary};

template <class T>
Candidate<T> method_candidate(Method method, int threads, Isa isa = Isa::automatic) {
    const Launch launch{.threads = static_cast<std::uint32_t>(threads), .isa = isa};
    const std::string suffix = isa == Isa::automatic ? "" : fmt::format(", {}", name(isa));
    return {std::string(name(method)), threads_text(threads) + suffix, threads,
            [=](std::span<const T> x) { keep(sum(x, method, launch)); }};
}

// What the standard library and OpenMP have: in order, in an order of their own, and in whatever
// order threads are done.
template <class T>
void add_peers(bool openmp, std::vector<Candidate<T>>& list) {
    if constexpr (!fp::is_narrow<T>) { // C++20 has no arithmetic for the others
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

// `numpy` outlives them.
template <class T>
void add_numpy(NumpyPeer& numpy, std::uint64_t n, std::vector<Candidate<T>>& list) {
    if (!numpy.prepare(dtype_of<T>, n)) return;
    list.push_back({.name = numpy_name,
                    .variant = fmt::format("{}, NumPy {}", threads_text(1), numpy.version()),
                    .threads = 1,
                    .run = {},
                    .elsewhere = [&numpy](int times) { return numpy.seconds(times); }});
}

template <class T>
void add_several(const Options& options, Data kind, std::vector<Candidate<T>>& list) {
    for (const MethodInfo& m : measured_methods(options))
        if (m.on_cpu && m.method != Method::serial && (kind == Data::normal || m.method == Method::exact))
            list.push_back(method_candidate<T>(m.method, cpu_threads()));
    if (kind == Data::normal) add_peers(true, list);
}

template <class T>
std::vector<Candidate<T>> candidates(const Options& options, std::span<const T> data, Data kind, NumpyPeer& numpy) {
    std::vector<Candidate<T>> list{read_candidate<T>(data, 1, threads_text(1))};
    add_single(options, kind, list);
    if (kind == Data::normal) add_numpy(numpy, data.size(), list);
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
void append_rows(const std::vector<Candidate<T>>& list, Data kind, std::span<const T> x, std::vector<CostRow>& rows) {
    const std::vector<double> reads = read_seconds(list);
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
    time_in_turns(list, x, options.quick ? Rounds{0.5, 3, 20} : Rounds{10, 5, 50}, progress);
    append_rows(list, kind, x, rows);
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
