// What dispatch.cpp calls for what does not depend on order: ops that compare, and count_nonzero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>

#include "platform/launch_kernel.hpp"
#include "sequence/launch.hpp"
#include "multiset/join.hpp"
#include "policies.hpp"

namespace detreduce::cuda {

namespace multiset {

/// 16-byte loads of a thread of the grid that are in flight together.
inline constexpr std::uint32_t tile_vectors = policy::compare_loads;

/// Blocks that have something to do, at most: each has room for what it finds in the workspace.
[[nodiscard]] constexpr std::uint32_t useful_blocks(const Request& r, const Launch& launch) {
    constexpr std::uint64_t most = policy::most_compare_blocks;
    const std::uint64_t at_once = std::uint64_t{launch.block} * tile_vectors * 16;
    const std::uint64_t useful = (r.n * size_of(r.dtype) + at_once - 1) / at_once;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(useful, 1, launch.grid ? std::min<std::uint64_t>(launch.grid, most) : most));
}

/// At most `useful`, which is not more than the plan says, where it says how many. One block would
/// take so many iterations; 0: `useful`.
template <class Kernel>
[[nodiscard]] Status choose_blocks(const Run& run, Kernel kernel, std::uint32_t useful, std::uint32_t& blocks,
                                   std::uint64_t iterations = 0) {
    blocks = useful;
    if (run.plan.launch().grid != 0) return {};
    std::uint32_t resident = 0;
    const Status status = count_resident(kernel, run.plan.launch().block, 0, run.device(), resident);
    blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(useful, policy::blocks_for(iterations ? iterations : useful, resident)));
    return status;
}

/// For rows and segments.
[[nodiscard]] inline WorkLayout work_layout(const Request& r) {
    return WorkLayout::of(r, item_elements(r), sizeof(Found));
}

/// Of a list of tensors: what came of it, and what is known of all tensors, behind which is what
/// blocks found.
struct ListLayout {
    TensorListLayout list{0};
    std::size_t known = list.end,
                bytes =
                    known + TensorListLayout::align((1 + policy::most_tensor_blocks + tensors_at_once) * sizeof(Found));
};

} // namespace multiset

[[nodiscard]] inline std::size_t multiset_workspace_bytes(const Request& r, const detail::Route& route) {
    using detail::Scope;
    if (route.scope == Scope::list) return multiset::ListLayout{}.bytes;
    if (route.scope == Scope::grid) {
        const std::uint32_t blocks = multiset::useful_blocks(r, route.launch);
        return blocks == 1 ? 0 : (blocks * sizeof(multiset::Found) + 255) / 256 * 256;
    }
    if (route.scope == Scope::thread) {
        const PartLayout layout(r, sizeof(multiset::Found));
        return layout.parts.parts == 1 ? 0 : layout.bytes;
    }
    const WorkLayout layout = multiset::work_layout(r);
    return layout.room == 0 ? 0 : layout.bytes;
}

/// Flat arrays, rows, columns and segments.
template <class T>
[[nodiscard]] Status launch_multiset(const Run& run);
[[nodiscard]] Status launch_multiset_list(const Run& run);

namespace multiset {

/// What is found in the tensors of T of a list. `first`: nothing is known yet of others.
template <class T>
[[nodiscard]] Status look_at_list(const Run& run, const Results& results, bool& first);

} // namespace multiset
} // namespace detreduce::cuda
