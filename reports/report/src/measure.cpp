#include "measure.hpp"

#include <fmt/format.h>

#include "gpu.hpp"
#include "own.hpp"

namespace detreduce::report {

std::string name_of(const Device& device) {
    return device.backend == Backend::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

Results measure(const Options& options, Progress& progress) {
    Results results;
    results.provenance = provenance_of(options);
    for (const std::string& note : own_notes(options))
        results.provenance.notes.push_back(note);
    measure_data(options, progress, results); // first: it is what can fail
    results.reference = measure_reference(options, progress);
    results.error = measure_error(options, progress);
    results.edges = measure_edges(options, progress);
    results.determinism = measure_determinism(options, progress);
    results.cost = options.device.backend == Backend::cuda
                       ? gpu::measure_cost(options, progress, results.provenance.notes)
                       : measure_cost_on_cpu(options, progress);
    if (options.device.backend == Backend::cuda && options.own.empty()) {
        const std::uint64_t n = std::uint64_t{1} << (options.quick ? 26 : 29);
        results.ladder =
            gpu::measure_ladder(options, n, options.quick ? 100 : 1000, progress, results.provenance.notes);
    }
    progress.clear();
    return results;
}

} // namespace detreduce::report
