// What dispatch.cpp calls for ops that count.
#pragma once

#include <cstddef>

#include <detreduce/plan.hpp>

#include "sequence/launch.hpp"

namespace detreduce::cuda {

/// Of f16 and bf16: one bit for each pattern.
inline constexpr std::size_t pattern_map_bytes = 65536 / 8;

/// Bytes of workspace of count_unique on the current device: for f32 and f64 two arrays of keys,
/// and what CUB needs to sort them.
[[nodiscard]] Status unique_workspace_bytes(DType dtype, std::uint64_t n, std::size_t& bytes);
/// The last part of that.
template <class T>
[[nodiscard]] Status sort_bytes(std::uint64_t n, std::size_t& bytes);

/// Bytes of workspace of count_unique of groups on the current device: for each element of any
/// dtype two keys and two numbers of groups, of 8 bytes each, and what CUB needs to sort them.
[[nodiscard]] Status unique_groups_workspace_bytes(const Request& r, std::size_t& bytes);

template <class T>
[[nodiscard]] Status launch_count_unique(const Run& run);
template <>
Status launch_count_unique<float16>(const Run& run);
template <>
Status launch_count_unique<bfloat16>(const Run& run);
/// Rows, columns and segments, of 1 or more groups.
[[nodiscard]] Status launch_count_unique_groups(const Run& run);

} // namespace detreduce::cuda
