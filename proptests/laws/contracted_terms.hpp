// transform_reduce() in a source that is compiled with contraction.
#pragma once

#include <cstdint>

#include <detreduce/status.hpp>
#include <detreduce/types.hpp>

namespace detreduce::proptests {

/// Σ(x² − 1) by transform_reduce(), of f16, bf16, f32 and f64.
template <class T>
[[nodiscard]] Status contracted_sum(const T* x, std::uint64_t n, T* out);

/// A term of two sources, of whose copies of one instantiation a program keeps one.
struct SharedTerm {
    float operator()(float v) const { return v * v - 1; }
};
[[nodiscard]] Status shared_sum_contracted(const float* x, std::uint64_t n, float* out);
[[nodiscard]] Status shared_sum_plain(const float* x, std::uint64_t n, float* out); ///< linked later

} // namespace detreduce::proptests
