// transform_reduce() in a source that is compiled with contraction.
#pragma once

#include <cstdint>

#include <detreduce/status.hpp>
#include <detreduce/types.hpp>

namespace detreduce::proptests {

/// Σ(x² − 1) by transform_reduce(), of f16, bf16, f32 and f64.
template <class T>
[[nodiscard]] Status contracted_sum(const T* x, std::uint64_t n, T* out);

} // namespace detreduce::proptests
