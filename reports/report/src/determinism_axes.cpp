#include "determinism_axes.hpp"

#include <fmt/format.h>

namespace detreduce::report {
namespace {

bool on_gpu(const Job& job) {
    return job.device.backend == Backend::cuda;
}

Variation repeated(const Job& base, bool quick) {
    Job job = base;
    job.runs = quick ? 100 : 1000;
    return {{job}, "nothing"};
}

Variation processes(const Job&, bool quick) {
    return {{},
            fmt::format("nothing: one run in each of {} processes, one after the other", fresh_processes(quick)),
            Way::processes};
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
    return {std::vector<Job>(quick ? 25 : 200, base), "random order of the same data", Way::permuted};
}

Variation splits(const Job& base, bool quick) {
    if (base.method != Method::exact) return {}; // the others have no state to merge
    return {std::vector<Job>(quick ? 64 : 3 * 64, base),
            "random order, cut into 1, 2, …, 64 pieces at random places, their states merged in random order",
            Way::split};
}

// What a job of so many processes computes, by one of them.
Variation ranks(const Job& base, bool) {
    return {std::vector<Job>(8, base),
            base.method == Method::exact
                ? "the data in 1, 2, …, 8 pieces, each in a state of its own, and the states added up, as mpi.hpp does"
                : "the data in 1, 2, …, 8 pieces, each summed, and the sums added up one after the other, as MPI_SUM "
                  "may do",
            Way::ranks};
}

Variation mpi_ranks(const Job& base, bool) {
    if (on_gpu(base) || base.own != nullptr) return {};
    return {{},
            base.method == Method::exact
                ? "1, 2, 3, 4 and 8 processes with a piece of the data each, by mpi::all_reduce()"
                : "1, 2, 3, 4 and 8 processes with the sum of a piece of the data each, by MPI_SUM",
            Way::mpi};
}

Variation nccl_ranks(const Job& base, bool) {
    if (!on_gpu(base) || base.own != nullptr) return {};
    return {{},
            base.method == Method::exact
                ? "1, 2, 3, 4 and 8 GPUs, as far as there are, with a piece of the data each, by "
                  "nccl::all_reduce()"
                : "1, 2, 3, 4 and 8 GPUs, as far as there are, with the sum of a piece of the "
                  "data each, by ncclSum of floats",
            Way::nccl};
}

Variation schedules(const Job& base, bool) {
    const bool levels = base.method == Method::tree; // without them there is nothing to cooperate about
    if (!on_gpu(base) || !(levels || base.method == Method::exact)) return {};
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
        const bool in_one = base.method == Method::tree || base.method == Method::exact;
        job.launch.schedule = in_one ? Schedule::last_block : Schedule::automatic; // takes any grid
        job.runs = 10;
        plan.jobs.push_back(job);
    }
    return plan;
}

Variation blocks(const Job& base, bool) {
    if (!on_gpu(base) || (base.method != Method::tree && base.method != Method::atomic))
        return {}; // the others have one size of block
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
    job.loaded = true;
    job.runs = quick ? 100 : 1000;
    return {{job}, "4 streams at once, beside a fifth that sums other data all the time"};
}

Variation graphs(const Job& base, bool quick) {
    if (!on_gpu(base)) return {};
    Job job = base;
    job.graph = true;
    job.runs = quick ? 100 : 1000;
    return {{job}, "one plain run, then a CUDA graph of it replayed"};
}

Variation cpu_and_gpu(const Job& base, bool) {
    if (!on_gpu(base) || !info(base.method).on_cpu) return {};
    Job cpu = base, gpu = base;
    cpu.device = {};
    cpu.runs = gpu.runs = 5;
    return {{cpu, gpu}, "the CPU backend and the GPU"};
}

Variation several_gpus(const Job& base, bool) {
    if (!on_gpu(base)) return {};
    const std::vector<cuda::DeviceInfo> devices = cuda::devices();
    if (devices.size() < 2) return {};
    Variation plan{{}, fmt::format("each of {} GPUs", devices.size())};
    for (const cuda::DeviceInfo& device : devices) {
        Job job = base;
        job.device.index = device.index;
        job.runs = 20;
        plan.jobs.push_back(job);
    }
    return plan;
}

// The row alone, as flat data and as a matrix of one row, and in batches.
Variation batch(const Job& base, std::uint64_t n, std::initializer_list<std::uint64_t> sizes) {
    if (base.method == Method::atomic) return {}; // sums no rows
    Variation plan{{base}, "", Way::batch, n};
    std::string text;
    for (const std::uint64_t rows : sizes) {
        Job job = base;
        job.rows = rows;
        plan.jobs.push_back(job);
        text += fmt::format("{}{}", text.empty() ? "" : ", ", rows);
    }
    plan.varied =
        fmt::format("one row of n elements alone, and first, last and every third of {} rows of others", text);
    return plan;
}
Variation short_rows(const Job& base, bool) {
    return batch(base, 133, {1, 2, 3, 8, 33, 100, 257, 1000});
}
Variation long_rows(const Job& base, bool) {
    return batch(base, 8229, {1, 2, 3, 8, 33, 100});
}

constexpr Axis axes[] = {
    {"repeated runs", Guarantee::run_to_run, repeated},
    {"fresh processes", Guarantee::run_to_run, processes},
    {"CPU threads", Guarantee::device, cpu_threads_axis},
    {"instruction sets", Guarantee::device, instruction_sets},
    {"alignment", Guarantee::device, alignment},
    {"schedules", Guarantee::device, schedules},
    {"grids", Guarantee::device, grids},
    {"blocks", Guarantee::device, blocks},
    {"streams under load", Guarantee::run_to_run, streams},
    {"graph replay", Guarantee::run_to_run, graphs},
    {"CPU and GPU", Guarantee::device, cpu_and_gpu},
    {"several GPUs", Guarantee::device, several_gpus},
    {"batch, short rows", Guarantee::device, short_rows},
    {"batch, long rows", Guarantee::device, long_rows},
    {"permutations", Guarantee::order, permutations},
    {"splits", Guarantee::order, splits},
    {"ranks", Guarantee::order, ranks},
    {"MPI ranks", Guarantee::order, mpi_ranks},
    {"NCCL ranks", Guarantee::order, nccl_ranks},
};

} // namespace

std::span<const Axis> determinism_axes() {
    return axes;
}

} // namespace detreduce::report
