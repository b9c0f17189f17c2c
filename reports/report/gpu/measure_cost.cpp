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

std::vector<CostRow> measure_cost(const Options& options, Progress& progress, std::vector<std::string>& notes) {
    check(cudaSetDevice(options.device.index), "cudaSetDevice");
    const std::vector<DType> dtypes = measured_dtypes(options);
    int steps = 0;
    for (const DType dtype : dtypes)
        steps += std::max(last_exponent(options, dtype) - first + 1, 0) + 5;
    progress.begin("cost", steps);
    std::vector<CostRow> rows;
    for (const DType dtype : dtypes) {
        const std::vector<std::uint64_t> sizes = sizes_that_fit(dtype, first, last_exponent(options, dtype), notes);
        if (sizes.empty()) continue;
        Pool pool(dtype, sizes.back(), options.seed);
        for (const CostPoint& point : default_points(sizes)) {
            progress.step(fmt::format("{} {} n = {}", name(dtype), name(point.data), point.n));
            const auto more = cost_rows(point, contenders(options, dtype, point), pool,
                                        default_repeats(point.n * size_of(dtype)), name_of(options.device));
            rows.insert(rows.end(), more.begin(), more.end());
        }
    }
    return rows;
}

} // namespace detreduce::report::gpu
