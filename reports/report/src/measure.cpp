#include "measure.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <detreduce/detreduce.hpp>

#include "busy.hpp"
#include "failure.hpp"
#include "gpu.hpp"
#include "own.hpp"
#include "summary.hpp"

namespace detreduce::report {
namespace {

bool on_gpu(const Device& device) {
    return device.backend == Backend::cuda;
}

void measure_cost(const Options& options, Progress& progress, Results& results) {
    for (const Device& device : devices_of(options)) {
        Options one = options;
        one.device = device;
        on_gpu(device) ? gpu::measure_cost(one, progress, results) : measure_cost_on_cpu(one, progress, results);
    }
}

void measure_op_cost(const Options& options, Progress& progress, Results& results) {
    for (const Device& device : devices_of(options)) {
        Options one = options;
        one.device = device;
        on_gpu(device) ? gpu::measure_op_cost(one, progress, results) : measure_op_cost_on_cpu(one, progress, results);
    }
}

void measure_ladder(const Options& options, Progress& progress, Results& results) {
    if (!on_gpu(options.device)) return;
    const std::uint64_t n = std::uint64_t{1} << (options.quick ? 26 : 29);
    try {
        gpu::measure_ladder(options, n, options.quick ? 100 : 1000, progress, results);
    } catch (const program::OutOfMemory& error) { // it chose sizes that fit, but others take memory too
        results.provenance.notes.push_back(fmt::format("The ladder ended early: {}.", error.what()));
    }
}

struct SectionPlan {
    const char* name;
    double share; ///< of the time: what the estimate of what remains begins with
    void (*measure)(const Options&, Progress&, Results&);
    bool methods_only = false; ///< says nothing of reductions of somebody's own
};
constexpr SectionPlan plans[] = {{"data", 2, measure_data}, // first: it is what can fail
                                 {"reference", 1, measure_reference, true},
                                 {"error", 30, measure_error},
                                 {"ops", 5, measure_op_error, true},
                                 {"edges", 1, measure_edges},
                                 {"determinism", 15, measure_determinism},
                                 {"cost", 35, measure_cost},
                                 {"op_cost", 15, measure_op_cost, true},
                                 {"ladder", 20, measure_ladder, true}};

std::vector<SectionPlan> plans_of(const Options& options) {
    std::vector<SectionPlan> list;
    for (const SectionPlan& plan : plans) {
        const auto& asked = options.sections;
        const bool named = plan.measure != measure_data; // that the files are given asks for it
        if (named && !asked.empty() && std::find(asked.begin(), asked.end(), plan.name) == asked.end()) continue;
        if (plan.methods_only && !options.own.empty()) continue;
        if (plan.measure == measure_ladder && !on_gpu(options.device)) continue; // kernels for GPUs
        if (plan.measure == measure_data && options.data.empty()) continue;
        list.push_back(plan);
    }
    return list;
}

// One share a Progress::begin().
std::vector<double> shares_of(const Options& options, const std::vector<SectionPlan>& list) {
    std::vector<double> shares;
    for (const SectionPlan& plan : list) {
        const bool by_device = plan.measure == measure_cost || plan.measure == measure_op_cost;
        const std::size_t parts = by_device ? devices_of(options).size() : plan.measure == measure_op_error ? 2 : 1;
        shares.insert(shares.end(), parts, plan.share);
    }
    return shares;
}

bool is_timed(const SectionPlan& plan) {
    return plan.measure == measure_cost || plan.measure == measure_op_cost || plan.measure == measure_ladder;
}

// The load average would not do: it remembers for minutes that something was built before.
void note_load(Provenance& p) {
    constexpr double quiet = 0.2;
    const std::optional<double> busy = share_of_others(std::chrono::milliseconds(500));
    if (!busy || *busy < quiet || !busy_note_of(p).empty()) return;
    p.notes.push_back(fmt::format("{} when timing began (other programs took {:.0f} % of its {} threads): times, those "
                                  "of several threads above all, say little.",
                                  busy_note, 100 * *busy, p.cpu_threads));
}

// The provenance has room for one GPU.
void note_more_gpus(const Options& options, std::vector<std::string>& notes) {
    for (const Device& device : options.more_devices)
        if (on_gpu(device))
            notes.push_back(fmt::format("{} is {}.", name_of(device), gpu::describe(device.index).name));
}

} // namespace

std::string name_of(const Device& device) {
    return device.backend == Backend::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

std::vector<Device> devices_of(const Options& options) {
    std::vector<Device> list{options.device};
    list.insert(list.end(), options.more_devices.begin(), options.more_devices.end());
    return list;
}

std::vector<Placed> placed_methods(const Options& options) {
    std::vector<Placed> list;
    for (const MethodInfo& m : measured_methods(options)) {
        const std::size_t before = list.size();
        for (const Device& device : devices_of(options))
            if (on_gpu(device) ? m.on_cuda : m.on_cpu) list.push_back({m.method, device});
        if (list.size() == before && m.on_cpu) list.push_back({m.method, Device{}});
    }
    return list;
}

std::vector<std::string> section_names(bool of_own) {
    std::vector<std::string> names;
    for (const SectionPlan& plan : plans)
        if (plan.measure != measure_data && !(of_own && plan.methods_only)) names.emplace_back(plan.name);
    return names;
}

void measure(const Options& options, Progress& progress, Results& results) {
    results.provenance = provenance_of(options);
    results.own = own_rows(options);
    note_more_gpus(options, results.provenance.notes);
    for (const std::string& note : own_notes(options))
        results.provenance.notes.push_back(note);
    const std::vector<SectionPlan> list = plans_of(options);
    progress.expect(shares_of(options, list));
    const auto stopped = [&](const char* why) {
        progress.clear();
        results.provenance.incomplete = fmt::format("{} at: {}", why, progress.position());
    };
    try {
        for (const SectionPlan& plan : list) {
            if (is_timed(plan)) note_load(results.provenance);
            plan.measure(options, progress, results);
        }
        progress.clear();
    } catch (const std::exception& error) {
        stopped(error.what());
        throw;
    }
}

} // namespace detreduce::report
