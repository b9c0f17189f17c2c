// What dispatch.cpp calls: one function an element type.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>

namespace detreduce::cuda {

using detail::DeviceTraits;

/// Flat sums and means.
template <class T>
[[nodiscard]] Status launch_flat(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                 const DeviceTraits& device);

/// Ops other than sum and mean; of these rows, columns and segments.
template <class T>
[[nodiscard]] Status launch_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                   const DeviceTraits& device);

} // namespace detreduce::cuda
