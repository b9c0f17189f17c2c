#include "measure.hpp"

#include <fmt/format.h>

#include "gpu.hpp"

namespace detreduce::report {

std::string name_of(const Device& device) {
    return device.backend == Backend::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

Results measure(const Options& options, Progress& progress) {
    Results results;
    results.provenance = provenance_of(options);
    measure_data(options, progress, results); // first: it is what can fail
    results.reference = measure_reference(options, progress);
    results.error = measure_error(options, progress);
    const std::vector<ErrorRow> of_ops = measure_op_error(options, progress);
    results.error.insert(results.error.end(), of_ops.begin(), of_ops.end());
    results.edges = measure_edges(options, progress);
    results.determinism = measure_determinism(options, progress);
    results.cost = options.device.backend == Backend::cuda
                       ? gpu::measure_cost(options, progress, results.provenance.notes)
                       : measure_cost_on_cpu(options, progress);
    if (options.device.backend == Backend::cuda) {
        const std::uint64_t n = std::uint64_t{1} << (options.quick ? 26 : 29);
        results.ladder =
            gpu::measure_ladder(options, n, options.quick ? 100 : 1000, progress, results.provenance.notes);
    }
    progress.clear();
    return results;
}

} // namespace detreduce::report
