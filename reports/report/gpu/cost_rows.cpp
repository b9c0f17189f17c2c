#include "cost_rows.hpp"

#include <fmt/format.h>

#include <detreduce/types.hpp>

#include "statistics.hpp"
#include "timing.hpp"

namespace detreduce::report::gpu {

std::vector<std::uint64_t> sizes_that_fit(DType dtype, int first, int last, std::vector<std::string>& notes) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    std::vector<std::uint64_t> sizes;
    for (int exponent = first; exponent <= last; ++exponent) {
        const std::uint64_t n = std::uint64_t{1} << exponent;
        if (Pool::bytes_for(n * size_of(dtype)) > free / 100 * 85) {
            notes.push_back(fmt::format("{} sizes from 2^{} on were left out: two inputs of {} bytes do not fit in the "
                                        "{} bytes of free device memory.",
                                        name(dtype), exponent, n * size_of(dtype), free));
            break;
        }
        sizes.push_back(n);
    }
    return sizes;
}

std::vector<CostRow> cost_rows(DType dtype, std::uint64_t n, std::vector<Contender> others, Pool& pool, int repeats,
                               const std::string& device) {
    const std::size_t bytes = n * size_of(dtype);
    others.insert(others.begin(), fastest_read(dtype, n, pool));
    const auto seconds = time_in_turns(others, pool, bytes, repeats);
    const double read = median(seconds.front());
    std::vector<CostRow> rows;
    for (std::size_t i = 0; i < others.size(); ++i) {
        const double time = median(seconds[i]);
        // the launch that was fastest for reading differs from size to size: not a name for a column
        rows.push_back({std::string(name(dtype)), others[i].name, i == 0 ? "" : others[i].variant, device, n, bytes,
                        repeats, time, relative_deviation(seconds[i]), static_cast<double>(bytes) / time / 1e9,
                        read / time});
    }
    return rows;
}

int default_repeats(std::size_t bytes) {
    return bytes <= (std::size_t{64} << 20) ? 50 : 20;
}

std::vector<Contender> standard_contenders(DType dtype, std::uint64_t n) {
    std::vector<Contender> list{cub_contender(dtype, n)};
    const auto add = [&](Method method, Schedule schedule, std::string variant) {
        Launch launch;
        launch.schedule = schedule;
        if (auto contender = method_contender(method, dtype, n, launch, std::move(variant)))
            list.push_back(std::move(*contender));
    };
    for (const Schedule schedule :
         {Schedule::automatic, Schedule::two_pass, Schedule::last_block, Schedule::cooperative})
        add(Method::tree, schedule, std::string(name(schedule)));
    add(Method::atomic, Schedule::automatic, "");
    return list;
}

} // namespace detreduce::report::gpu
