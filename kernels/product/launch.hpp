// What dispatch.cpp calls for products.
#pragma once

#include <detreduce/plan.hpp>

#include "flat/launch.hpp"
#include "workspace.hpp"

namespace detreduce::cuda {

/// Bytes of acc::Product: a significand, its error and an exponent.
[[nodiscard]] constexpr std::size_t product_accumulator_bytes(DType dtype) {
    return dtype == DType::f64 ? 24 : 16;
}
[[nodiscard]] constexpr std::size_t product_workspace_bytes(const Request& r) {
    return workspace_layout(r.dtype, product_accumulator_bytes(r.dtype), r.n, 1).bytes;
}

template <class T>
[[nodiscard]] Status launch_product(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                    const DeviceTraits& device);

} // namespace detreduce::cuda
