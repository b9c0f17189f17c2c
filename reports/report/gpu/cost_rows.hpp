// One size of one dtype: rows of the cost section. Used by the report and by detreduce_gpu_bench.
#pragma once

#include <string>
#include <vector>

#include "contenders.hpp"
#include "model.hpp"
#include "pool.hpp"

namespace detreduce::report::gpu {

/// Sizes 2^first … 2^last of `dtype`, cut to what fits in the free memory (twice, so that inputs can take turns);
/// says so in `notes`.
[[nodiscard]] std::vector<std::uint64_t> sizes_that_fit(DType dtype, int first, int last,
                                                        std::vector<std::string>& notes);

/// The read-only kernel first, then the others, all timed in the same rounds.
[[nodiscard]] std::vector<CostRow> cost_rows(DType dtype, std::uint64_t n, std::vector<Contender> others, Pool& pool,
                                             int repeats, const std::string& device);

/// 50 while that takes no time, 20 for large inputs.
[[nodiscard]] int default_repeats(std::size_t bytes);

/// CUB, every schedule of `tree`, and `atomic`.
[[nodiscard]] std::vector<Contender> standard_contenders(DType dtype, std::uint64_t n);

} // namespace detreduce::report::gpu
