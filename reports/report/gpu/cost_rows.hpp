// One size and one kind of data: rows of the cost section. Used by the report and by
// detreduce_gpu_bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "contenders.hpp"
#include "model.hpp"
#include "pool.hpp"

namespace detreduce::report::gpu {

/// n such that the input has 4 GiB: where nothing but bandwidth counts.
[[nodiscard]] int largest_exponent(DType dtype);

/// Sizes 2^first … 2^last of `dtype`, cut to what fits in the free memory (twice, so that inputs
/// can take turns); says so in `notes`.
[[nodiscard]] std::vector<std::uint64_t> sizes_that_fit(DType dtype, int first, int last,
                                                        std::vector<std::string>& notes);

/// A pool for the last of them. What sizes_that_fit() found free may be gone by now: then with
/// fewer sizes, and a note. Nothing: not even the smallest fits.
[[nodiscard]] std::optional<Pool> pool_that_fits(DType dtype, std::vector<std::uint64_t>& sizes, std::uint64_t seed,
                                                 std::vector<std::string>& notes);

struct CostPoint {
    Data data;
    std::uint64_t n;
};
/// Normal data of every size, and every other kind at the largest.
[[nodiscard]] std::vector<CostPoint> default_points(const std::vector<std::uint64_t>& sizes);

/// Fills the pool and times the read-only kernel first, then the others, all in the same rounds.
[[nodiscard]] std::vector<CostRow> cost_rows(const CostPoint& point, std::vector<Contender> others, Pool& pool,
                                             int repeats, const std::string& device);

/// The same of data that is in the pool: n elements of what is called so.
[[nodiscard]] std::vector<CostRow> cost_rows_of(std::string_view data, std::uint64_t n, std::vector<Contender> others,
                                                Pool& pool, int repeats, const std::string& device);

/// What is slowest by `exact`, of sum and of dot, found by a search that takes so many seconds for
/// each, on inputs of 2^28 bytes; then timed at 4 GiB, or what fits, beside the read-only kernel.
[[nodiscard]] std::vector<CostRow> worst_rows(DType dtype, double seconds, const std::string& device,
                                              std::vector<std::string>& notes);

/// 50 while that takes no time, 20 for large inputs.
[[nodiscard]] int default_repeats(std::size_t bytes);

/// The methods whose cost may depend on the kind of data: all of them on normal data, `exact` on
/// every other kind.
[[nodiscard]] std::vector<Method> methods_for(Data data);

/// CUB on normal data, and `methods`: `tree` of f32 and f64 with each of its schedules.
[[nodiscard]] std::vector<Contender> standard_contenders(DType dtype, const CostPoint& point,
                                                         const std::vector<Method>& methods);

} // namespace detreduce::report::gpu
