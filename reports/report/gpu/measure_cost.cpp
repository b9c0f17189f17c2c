// Section 4 on a GPU.
#include <bit>

#include <fmt/format.h>

#include "cost_rows.hpp"
#include "gpu.hpp"
#include "own.hpp"

namespace detreduce::report::gpu {
namespace {

constexpr int first = 15;

int last_exponent(const Options& options, DType dtype) {
    return std::min(largest_exponent(dtype), static_cast<int>(std::bit_width(options.largest_n)) - 1);
}

std::vector<Contender> contenders(const Options& options, DType dtype, const CostPoint& point) {
    std::vector<Method> list;
    for (const Method method : methods_for(point.data))
        for (const MethodInfo& m : measured_methods(options))
            if (m.method == method) list.push_back(method);
    std::vector<Contender> all = standard_contenders(dtype, point, list);
    for (const OwnReduction* own : own_here(options, dtype))
        if (own->launch) all.push_back(own_contender(*own, point.n));
    return all;
}

} // namespace

void measure_cost(const Options& options, Progress& progress, Results& results) {
    check(cudaSetDevice(options.device.index), "cudaSetDevice");
    const std::vector<DType> dtypes = measured_dtypes(options);
    int steps = 0;
    for (const DType dtype : dtypes)
        steps += std::max(last_exponent(options, dtype) - first + 1, 0) + 5;
    progress.begin("cost", steps);
    std::vector<std::string>& notes = results.provenance.notes;
    for (const DType dtype : dtypes) {
        std::vector<std::uint64_t> sizes = sizes_that_fit(dtype, first, last_exponent(options, dtype), notes);
        std::optional<Pool> pool = pool_that_fits(dtype, sizes, options.seed, notes);
        if (!pool) continue;
        for (const CostPoint& point : default_points(sizes)) {
            const std::string what = fmt::format("{} {} n = {}", name(dtype), name(point.data), point.n);
            progress.step(what);
            try {
                const auto more = cost_rows(point, contenders(options, dtype, point), *pool,
                                            default_repeats(point.n * size_of(dtype)), name_of(options.device));
                results.cost.insert(results.cost.end(), more.begin(), more.end());
            } catch (const program::OutOfMemory& error) { // of a workspace
                notes.push_back(fmt::format("The cost of {} was left out: {}.", what, error.what()));
            }
        }
    }
}

} // namespace detreduce::report::gpu
