// What dispatch.cpp calls for ops that compare.
#pragma once

#include <algorithm>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/order_key.hpp>

#include "flat/launch.hpp"
#include "groups/groups.hpp"
#include "groups/parts.hpp"

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

/// Elements that a block takes of a large group.
inline constexpr std::uint32_t order_slot_elements = 1u << 15;

/// For rows or segments that are not left to threads.
[[nodiscard]] inline SlotLayout order_group_layout(const Request& r) {
    return SlotLayout::of(r, order_slot_elements, sizeof(OrderPartial));
}

/// Lists of tensors, by any op that compares, and by count_nonzero.
[[nodiscard]] std::size_t order_list_workspace_bytes();
[[nodiscard]] Status launch_order_list(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                       const DeviceTraits& device);

/// Bytes of workspace for whatever is not flat.
[[nodiscard]] inline std::size_t order_group_workspace_bytes(const Request& r) {
    if (r.shape == Shape::tensors) return order_list_workspace_bytes();
    if (by_threads(r)) {
        const PartLayout layout(r, sizeof(OrderPartial));
        return layout.parts.parts == 1 ? 0 : layout.bytes;
    }
    const SlotLayout layout = order_group_layout(r);
    return layout.room == 0 ? 0 : layout.bytes;
}

/// Rows, columns and segments.
template <class T>
[[nodiscard]] Status launch_order_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                         const DeviceTraits& device);

/// The same of minmax and count_nonzero.
template <class T>
[[nodiscard]] Status launch_tally_groups(const Plan& plan, const Inputs& in, void* out, void* workspace, Stream stream,
                                         const DeviceTraits& device);

template <class T>
[[nodiscard]] Status launch_order(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                  const DeviceTraits& device);
/// minmax, which has two results.
template <class T>
[[nodiscard]] Status launch_minmax(const Plan& plan, const void* x, void* out, void* workspace, Stream stream,
                                   const DeviceTraits& device);

} // namespace detreduce::cuda
