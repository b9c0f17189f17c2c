// What dispatch.cpp calls for what is reduced in a fixed order, one function an element type.
#pragma once

#include <algorithm>
#include <cstdint>

#include <detreduce/plan.hpp>

namespace detreduce::cuda {

using detail::DeviceTraits;

/// One run of a plan.
struct Run {
    const Plan& plan;
    Inputs in;
    void* out;
    void* workspace;
    Stream stream;

    [[nodiscard]] const Request& request() const { return plan.request(); }
    [[nodiscard]] const DeviceTraits& device() const { return detail::route_of(plan).device; }
    /// Blocks that are of use: at least one, and at most as many as the plan's grid, or, if it
    /// names none, `most`.
    [[nodiscard]] std::uint32_t blocks(std::uint64_t useful, std::uint64_t most) const {
        if (plan.launch().grid != 0) most = plan.launch().grid;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, most));
    }
};

/// Flat sums and means.
template <class T>
[[nodiscard]] Status launch_flat(const Run& run);
/// Ops other than sum and mean; of these rows, columns and segments.
template <class T>
[[nodiscard]] Status launch_groups(const Run& run);
/// Mean and variance by `tree`.
template <class T>
[[nodiscard]] Status launch_moments(const Run& run);
template <class T>
[[nodiscard]] Status launch_product(const Run& run);

/// Bytes of acc::Product: a significand, its error and an exponent.
[[nodiscard]] constexpr std::size_t product_accumulator_bytes(DType dtype) {
    return dtype == DType::f64 ? 24 : 16;
}

} // namespace detreduce::cuda
