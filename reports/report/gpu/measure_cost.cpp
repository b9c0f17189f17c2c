// Section 4 on a GPU.
#include <fmt/format.h>

#include "cost_rows.hpp"
#include "gpu.hpp"

namespace detreduce::report::gpu {

std::vector<CostRow> measure_cost(const Options& options, Progress& progress, std::vector<std::string>& notes) {
    check(cudaSetDevice(options.device.index), "cudaSetDevice");
    constexpr int first = 15;
    progress.begin("cost", 17 + 17 + 16 + 15 + 4 * 5);
    std::vector<CostRow> rows;
    for (const DType dtype : dtypes()) {
        const std::vector<std::uint64_t> sizes = sizes_that_fit(dtype, first, largest_exponent(dtype), notes);
        if (sizes.empty()) continue;
        Pool pool(dtype, sizes.back(), options.seed);
        for (const CostPoint& point : default_points(sizes)) {
            progress.step(fmt::format("{} {} n = {}", name(dtype), name(point.data), point.n));
            const auto more = cost_rows(point, standard_contenders(dtype, point, methods_for(point.data)), pool,
                                        default_repeats(point.n * size_of(dtype)), name_of(options.device));
            rows.insert(rows.end(), more.begin(), more.end());
        }
    }
    return rows;
}

} // namespace detreduce::report::gpu
