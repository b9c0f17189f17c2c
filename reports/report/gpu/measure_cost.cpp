// Section 3 on a GPU.
#include <fmt/format.h>

#include "cost_rows.hpp"
#include "gpu.hpp"

namespace detreduce::report::gpu {

std::vector<CostRow> measure_cost(const Options& options, Progress& progress, std::vector<std::string>& notes) {
    check(cudaSetDevice(options.device.index), "cudaSetDevice");
    constexpr int first = 15;
    progress.begin("cost", 16 + 15);
    std::vector<CostRow> rows;
    for (const DType dtype : {DType::f32, DType::f64}) {
        const std::vector<std::uint64_t> sizes = sizes_that_fit(dtype, first, dtype == DType::f32 ? 30 : 29, notes);
        if (sizes.empty()) continue;
        Pool pool(Pool::bytes_for(sizes.back() * size_of(dtype)), dtype, options.seed);
        for (const std::uint64_t n : sizes) {
            progress.step(fmt::format("{} n = {}", name(dtype), n));
            const auto more = cost_rows(dtype, n, standard_contenders(dtype, n), pool,
                                        default_repeats(n * size_of(dtype)), name_of(options.device));
            rows.insert(rows.end(), more.begin(), more.end());
        }
    }
    return rows;
}

} // namespace detreduce::report::gpu
