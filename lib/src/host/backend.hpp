// The CPU backend, as seen by run().
#pragma once

#include <cstddef>
#include <cstdint>

#include <detreduce/types.hpp>

namespace detreduce::host {

inline constexpr std::uint32_t max_threads = 1024;

/// What launch.threads = 0 means here and now, for n elements.
[[nodiscard]] std::uint32_t default_threads(std::uint64_t n, std::size_t element_bytes) noexcept;

/// The reduction itself; `launch` has nothing automatic left.
template <class T>
[[nodiscard]] T reduce_sum(Method method, const T* x, std::uint64_t n, const Launch& launch) noexcept;

} // namespace detreduce::host
