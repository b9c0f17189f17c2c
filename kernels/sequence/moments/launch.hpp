// What dispatch.cpp calls for mean and variance.
#pragma once

#include <detreduce/plan.hpp>

#include "multiset/exact/launch.hpp"
#include "sequence/launch.hpp"

namespace detreduce::cuda {

/// Bytes of acc::CountedMoments: how many elements there are, their mean, and M2.
[[nodiscard]] constexpr std::size_t counted_moments_bytes(DType dtype) {
    return dtype == DType::f64 ? 24 : 16;
}
/// By tree.
template <class T>
[[nodiscard]] Status launch_moments(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                    const DeviceTraits& device);

} // namespace detreduce::cuda
