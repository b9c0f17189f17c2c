// Section 3: one sum, one thing varied at a time, and the bits that come out.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/accuracy/metrics.hpp>

#include "measure.hpp"
#include "own.hpp"
#include "runner.hpp"

namespace detreduce::report {
namespace {

// Not a multiple of anything.
std::uint64_t elements(const Options& options) {
    return std::min((std::uint64_t{1} << (options.quick ? 18 : 20)) + 37, options.largest_n);
}

constexpr accuracy::Family family = accuracy::Family::normal;

struct Variation {
    std::vector<Job> jobs;
    std::string varied;
    bool permuted = false; ///< each job on another permutation of the data
    bool split = false;    ///< each job in other pieces, merged in another order
};

struct Axis {
    const char* name;
    Guarantee needs;                                ///< the weakest guarantee that promises one result along this axis
    Variation (*plan)(const Job& base, bool quick); ///< no jobs: the axis does not apply
};

bool on_gpu(const Job& job) {
    return job.device.backend == Backend::cuda;
}

Variation repeated(const Job& base, bool quick) {
    Job job = base;
    job.runs = quick ? 100 : 1000;
    return {{job}, "nothing"};
}

Variation cpu_threads_axis(const Job& base, bool quick) {
    if (on_gpu(base) || base.method == Method::serial) return {};
    Variation plan{{}, "1, 2, …, 8 threads"};
    for (unsigned threads = 1; threads <= 8; ++threads) {
        Job job = base;
        job.launch.threads = threads;
        job.runs = quick ? 5 : 50;
        plan.jobs.push_back(job);
    }
    return plan;
}

Variation instruction_sets(const Job& base, bool quick) {
    if (on_gpu(base) || base.method == Method::serial) return {};
    Variation plan;
    for (const Isa isa : available_isas()) {
        plan.varied += (plan.varied.empty() ? "" : ", ") + std::string(name(isa));
        Job job = base;
        job.launch.isa = isa;
        job.runs = quick ? 5 : 50;
        plan.jobs.push_back(job);
    }
    return plan;
}

Variation alignment(const Job& base, bool) {
    Variation plan{{}, "data 0, 1, …, 15 elements past an aligned address"};
    for (unsigned misalignment = 0; misalignment < 16; ++misalignment) {
        Job job = base;
        job.misalignment = misalignment;
        plan.jobs.push_back(job);
    }
    return plan;
}

Variation permutations(const Job& base, bool quick) {
    return {std::vector<Job>(quick ? 25 : 200, base), "random order of the same data", true};
}

Variation splits(const Job& base, bool quick) {
    if (base.method != Method::exact) return {}; // the others have no state to merge
    return {std::vector<Job>(quick ? 25 : 200, base),
            "random order, cut into 2 to 31 pieces at random, their states merged in random order", true, true};
}

Variation schedules(const Job& base, bool) {
    if (!on_gpu(base) || base.method == Method::atomic) return {};
    const bool levels = base.method != Method::exact; // without them there is nothing to cooperate about
    Variation plan{{}, levels ? "two_pass, last_block, cooperative" : "two_pass, last_block"};
    for (const Schedule schedule : {Schedule::two_pass, Schedule::last_block, Schedule::cooperative}) {
        if (schedule == Schedule::cooperative && !levels) continue;
        Job job = base;
        job.launch.schedule = schedule;
        job.runs = 20;
        plan.jobs.push_back(job);
    }
    return plan;
}

Variation grids(const Job& base, bool) {
    if (!on_gpu(base)) return {};
    Variation plan{{}, "grids of 1, 2, 7, 33, 132, 500 and 1000 blocks"};
    for (const unsigned grid : {1u, 2u, 7u, 33u, 132u, 500u, 1000u}) {
        Job job = base;
        job.launch.grid = grid;
        job.launch.schedule =
            base.method == Method::atomic ? Schedule::automatic : Schedule::last_block; // takes any grid
        job.runs = 10;
        plan.jobs.push_back(job);
    }
    return plan;
}

Variation blocks(const Job& base, bool) {
    if (!on_gpu(base) || base.method == Method::exact) return {}; // exact has one size of block
    Variation plan{{}, "blocks of 128 and 256 threads"};
    for (const unsigned block : {128u, 256u}) {
        Job job = base;
        job.launch.block = block;
        job.runs = 20;
        plan.jobs.push_back(job);
    }
    return plan;
}

Variation streams(const Job& base, bool quick) {
    if (!on_gpu(base)) return {};
    Job job = base;
    job.streams = 4;
    job.runs = quick ? 100 : 1000;
    return {{job}, "4 streams at once"};
}

Variation cpu_and_gpu(const Job& base, bool) {
    if (!on_gpu(base) || !info(base.method).on_cpu) return {};
    Job cpu = base, gpu = base;
    cpu.device = {};
    cpu.runs = gpu.runs = 5;
    return {{cpu, gpu}, "the CPU backend and the GPU"};
}

constexpr Axis axes[] = {
    {"repeated runs", Guarantee::run_to_run, repeated},
    {"CPU threads", Guarantee::device, cpu_threads_axis},
    {"instruction sets", Guarantee::device, instruction_sets},
    {"alignment", Guarantee::device, alignment},
    {"schedules", Guarantee::device, schedules},
    {"grids", Guarantee::device, grids},
    {"blocks", Guarantee::device, blocks},
    {"streams", Guarantee::run_to_run, streams},
    {"CPU and GPU", Guarantee::device, cpu_and_gpu},
    {"permutations", Guarantee::order, permutations},
    {"splits", Guarantee::order, splits},
};

// What can be varied about a reduction that is somebody's own.
bool varies(const OwnReduction& own, const Axis& axis) {
    constexpr std::string_view names[] = {"repeated runs", "alignment", "streams", "permutations"};
    if (std::string_view(axis.name) == "CPU threads") return own.claims.openmp;
    return std::find(std::begin(names), std::end(names), axis.name) != std::end(names);
}

// 16-bit elements are summed to f32: a 16-bit result would hide most differences.
template <class T>
using Out = fp::Arithmetic<T>;

template <class T>
std::vector<Out<T>> results_of_job(const Variation& plan, const Job& job, std::span<const T> data, std::uint64_t seed) {
    if (!plan.split) return results_of<T, Out<T>>(job, data);
    std::vector<Out<T>> results(1);
    run_split(job.device, random_split(data.size(), seed), input_of(data), dtype_of<Out<T>>, results.data());
    return results;
}

template <class T>
void measure_axis(const Variation& plan, const std::vector<T>& data, std::uint64_t seed, DeterminismRow& row) {
    accuracy::BitPatterns<Out<T>> patterns;
    std::vector<T> permuted;
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
        const std::uint64_t own_seed = accuracy::hash(seed, i);
        if (plan.permuted) {
            permuted = data;
            accuracy::shuffle(std::span<T>(permuted), own_seed);
        }
        const std::span<const T> input = plan.permuted ? permuted : data;
        for (const Out<T> result : results_of_job(plan, plan.jobs[i], input, own_seed))
            patterns.add(result);
    }
    row.varied = plan.varied;
    row.runs = static_cast<std::int64_t>(patterns.total());
    row.distinct = static_cast<std::int64_t>(patterns.distinct());
    row.spread_ulp = static_cast<double>(patterns.max_ulp_distance());
}

template <class T>
DeterminismRow measure_cell(const Options& options, const Axis& axis, const Job& base, const std::vector<T>& data) {
    DeterminismRow row;
    row.subject.dtype = name(dtype_of<T>);
    row.subject.output = name(dtype_of<Out<T>>);
    row.subject.method = name_of(base);
    row.subject.device = name_of(base.device);
    row.axis = axis.name;
    row.family = accuracy::name(family);
    row.n = data.size();
    row.promised = (base.own ? base.own->claims.guarantee : info(base.method).guarantee) >= axis.needs;
    if (base.own && !varies(*base.own, axis)) return row;
    const Variation plan = axis.plan(base, options.quick);
    if (!plan.jobs.empty()) measure_axis(plan, data, options.seed, row);
    return row;
}

// Every method wherever it is offered: the device under test first, then the CPU. Then reductions of somebody's own.
std::vector<Job> subjects(const Options& options, DType dtype) {
    std::vector<Job> list;
    for (const MethodInfo& m : measured_methods(options))
        if (options.device.backend == Backend::cuda && m.on_cuda)
            list.push_back({.method = m.method, .device = options.device, .launch = {}});
    for (const MethodInfo& m : measured_methods(options))
        if (m.on_cpu) list.push_back({.method = m.method, .device = {}, .launch = {}});
    for (const OwnReduction* own : own_here(options, dtype))
        list.push_back({.device = device_of(*own, options), .launch = {}, .own = own});
    return list;
}

template <class T>
void measure_dtype(const Options& options, Progress& progress, std::vector<DeterminismRow>& rows) {
    if (!is_measured(options, dtype_of<T>)) return;
    const std::vector<T> data = accuracy::generate<T>(family, elements(options), options.seed);
    for (const Job& base : subjects(options, dtype_of<T>)) {
        for (const Axis& axis : axes) {
            progress.step(fmt::format("{} {} {}", name(dtype_of<T>), name_of(base), axis.name));
            rows.push_back(measure_cell(options, axis, base, data));
        }
    }
}

} // namespace

std::vector<DeterminismRow> measure_determinism(const Options& options, Progress& progress) {
    std::size_t rows_in_all = 0;
    for (const DType dtype : measured_dtypes(options))
        rows_in_all += subjects(options, dtype).size() * std::size(axes);
    progress.begin("determinism", static_cast<int>(rows_in_all));
    std::vector<DeterminismRow> rows;
    measure_dtype<float16>(options, progress, rows);
    measure_dtype<bfloat16>(options, progress, rows);
    measure_dtype<float>(options, progress, rows);
    measure_dtype<double>(options, progress, rows);
    return rows;
}

} // namespace detreduce::report
