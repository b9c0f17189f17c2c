// What dispatch.cpp calls for mean and variance.
#pragma once

#include <detreduce/plan.hpp>

#include "exact/launch.hpp"
#include "flat/launch.hpp"

namespace detreduce::cuda {

/// Bytes of acc::CountedMoments: how many elements there are, their mean, and M2.
[[nodiscard]] constexpr std::size_t counted_moments_bytes(DType dtype) {
    return dtype == DType::f64 ? 24 : 16;
}
/// By tree.
template <class T>
[[nodiscard]] Status launch_moments(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                    const DeviceTraits& device);

/// Two passes over x: one adds the elements to a state, one their squares to one or three.
template <class T>
[[nodiscard]] Status launch_moments_exact(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                          const DeviceTraits& device);

/// The same of rows, columns or segments.
template <class T>
[[nodiscard]] Status launch_moments_exact_groups(const Plan& plan, const Inputs& in, void* out, void* workspace,
                                                 Stream stream, const DeviceTraits& device);

} // namespace detreduce::cuda
