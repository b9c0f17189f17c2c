#include "cost_rows.hpp"

#include <bit>

#include <fmt/format.h>

#include <detreduce/types.hpp>

#include "statistics.hpp"
#include "timing.hpp"

namespace detreduce::report::gpu {

int largest_exponent(DType dtype) {
    return 32 - std::countr_zero(size_of(dtype)); // 4 GiB
}

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

std::optional<Pool> pool_that_fits(DType dtype, std::vector<std::uint64_t>& sizes, std::uint64_t seed,
                                   std::vector<std::string>& notes) {
    for (; !sizes.empty(); sizes.pop_back()) {
        try {
            return std::optional<Pool>(std::in_place, dtype, sizes.back(), seed);
        } catch (const program::OutOfMemory& error) {
            notes.push_back(fmt::format("The cost of {} arrays of n = {} was left out: {}.", name(dtype), sizes.back(),
                                        error.what()));
        }
    }
    return std::nullopt;
}

std::vector<CostPoint> default_points(const std::vector<std::uint64_t>& sizes) {
    std::vector<CostPoint> points;
    for (const std::uint64_t n : sizes)
        points.push_back({Data::normal, n});
    for (const Data data : all_data)
        if (data != Data::normal && !sizes.empty()) points.push_back({data, sizes.back()});
    return points;
}

std::vector<CostRow> cost_rows(const CostPoint& point, std::vector<Contender> others, Pool& pool, int repeats,
                               const std::string& device) {
    pool.fill(point.data, point.n);
    return cost_rows_of(name(point.data), point.n, std::move(others), pool, repeats, device);
}

std::vector<CostRow> cost_rows_of(std::string_view data, std::uint64_t n, std::vector<Contender> others, Pool& pool,
                                  int repeats, const std::string& device) {
    const std::size_t bytes = n * size_of(pool.dtype());
    others.insert(others.begin(), fastest_read(n, pool));
    const auto seconds = time_in_turns(others, pool, repeats);
    const double read = median(seconds.front());
    std::vector<CostRow> rows;
    for (std::size_t i = 0; i < others.size(); ++i) {
        const double time = median(seconds[i]);
        // the launch that was fastest for reading differs from size to size: not a name for a
        // column
        rows.push_back({std::string(name(pool.dtype())), others[i].name, i == 0 ? "" : others[i].variant, device,
                        std::string(data), n, bytes, repeats, time, relative_deviation(seconds[i]),
                        static_cast<double>(bytes) / time / 1e9, read / time});
    }
    return rows;
}

int default_repeats(std::size_t bytes) {
    return bytes <= (std::size_t{64} << 20) ? 50 : 20;
}

std::vector<Method> methods_for(Data data) {
    if (data != Data::normal) return {Method::exact};
    std::vector<Method> list;
    for (const MethodInfo& m : methods())
        if (m.on_cuda) list.push_back(m.method);
    return list;
}

std::vector<Contender> standard_contenders(DType dtype, const CostPoint& point, const std::vector<Method>& methods) {
    std::vector<Contender> list;
    if (point.data == Data::normal && !has_8_bits(dtype)) list.push_back(cub_contender(dtype, point.n));
    const auto add = [&](Method method, Schedule schedule, std::string variant) {
        Launch launch;
        launch.schedule = schedule;
        if (auto contender = method_contender(method, dtype, point.n, launch, std::move(variant)))
            list.push_back(std::move(*contender));
    };
    for (const Method method : methods) {
        if (method != Method::tree) {
            add(method, Schedule::automatic, "");
            continue;
        }
        add(method, Schedule::automatic, std::string(name(Schedule::automatic)));
        if (is_narrow(dtype))
            continue; // the schedules differ in what they do after the elements, which is the same for all dtypes
        for (const Schedule schedule : {Schedule::two_pass, Schedule::last_block, Schedule::cooperative})
            add(method, schedule, std::string(name(schedule)));
    }
    return list;
}

} // namespace detreduce::report::gpu
