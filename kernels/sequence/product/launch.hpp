// What dispatch.cpp calls for products.
#pragma once

#include <detreduce/plan.hpp>

#include "sequence/launch.hpp"
#include "groups/groups.hpp"

namespace detreduce::cuda {

/// Bytes of acc::Product: a significand, its error and an exponent.
[[nodiscard]] constexpr std::size_t product_accumulator_bytes(DType dtype) {
    return dtype == DType::f64 ? 24 : 16;
}
[[nodiscard]] inline std::size_t product_workspace_bytes(const Request& r) {
    return level_workspace_bytes(r, product_accumulator_bytes(r.dtype));
}

template <class T>
[[nodiscard]] Status launch_product(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                    const DeviceTraits& device);

} // namespace detreduce::cuda
