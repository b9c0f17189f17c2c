// What dispatch.cpp calls for ops that compare.
#pragma once

#include <algorithm>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/order_key.hpp>

#include "flat/launch.hpp"

namespace detreduce::cuda {

/// What a block found: a key of any dtype, widened.
using OrderPartial = spec::Found<std::int64_t>;

/// 16-byte loads of a thread that are in flight together.
inline constexpr std::uint32_t order_tile_vectors = 4;

/// Blocks that have something to do, at most: each has room for what it finds in the workspace.
[[nodiscard]] constexpr std::uint32_t order_blocks(const Request& r, const Launch& launch) {
    constexpr std::uint64_t most = 8192;
    const std::uint64_t at_once = std::uint64_t{launch.block} * order_tile_vectors * 16;
    const std::uint64_t useful = (r.n * size_of(r.dtype) + at_once - 1) / at_once;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(useful, 1, launch.grid ? std::min<std::uint64_t>(launch.grid, most) : most));
}
[[nodiscard]] constexpr std::size_t order_workspace_bytes(const Request& r, const Launch& launch) {
    const std::uint32_t blocks = order_blocks(r, launch);
    return blocks == 1 ? 0 : (blocks * sizeof(OrderPartial) + 255) / 256 * 256;
}

template <class T>
[[nodiscard]] Status launch_order(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                  const DeviceTraits& device);
/// minmax, which has two results.
template <class T>
[[nodiscard]] Status launch_minmax(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                   const DeviceTraits& device);

} // namespace detreduce::cuda
