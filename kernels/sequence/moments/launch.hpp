// What dispatch.cpp calls for mean and variance.
#pragma once

#include <detreduce/plan.hpp>

#include "multiset/exact/launch.hpp"
#include "sequence/launch.hpp"

namespace detreduce::cuda {

/// By tree.
template <class T>
[[nodiscard]] Status launch_moments(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                    const DeviceTraits& device);

} // namespace detreduce::cuda
