// The CPU backend, as seen by run().
#pragma once

#include <cstdint>

#include <detreduce/types.hpp>

namespace detreduce::host {

/// What launch.threads = 0 means here and now.
[[nodiscard]] std::uint32_t default_threads() noexcept;

/// The reduction itself; `launch` has nothing automatic left.
template <class T>
[[nodiscard]] T reduce_sum(Method method, const T* x, std::uint64_t n, const Launch& launch) noexcept;

} // namespace detreduce::host
