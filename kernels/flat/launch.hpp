// What dispatch.cpp calls: one function an element type.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>

namespace detreduce::cuda {

using detail::DeviceTraits;

template <class T>
[[nodiscard]] Status launch_flat(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                 const DeviceTraits& device);

/// Ops other than sum and mean.
template <class T>
[[nodiscard]] Status launch_flat_terms(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                       const DeviceTraits& device);

/// Rows, columns and segments, of any op.
template <class T>
[[nodiscard]] Status launch_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                   const DeviceTraits& device);

extern template Status launch_flat<float16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
extern template Status launch_flat<bfloat16>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
extern template Status launch_flat<float>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);
extern template Status launch_flat<double>(const Plan&, const void*, void*, void*, Stream, const DeviceTraits&);

} // namespace detreduce::cuda
