// The end of mean and variance by `exact`.
#pragma once

#include <detreduce/acc/exact_variance.hpp>
#include <detreduce/acc/moments.hpp>

#include "moments/launch.hpp"

namespace detreduce::cuda {

/// Workspace: the state of Σx, behind it those of Σx².
inline constexpr int most_moment_words = (1 + acc::exact::product_states) * acc::exact::words;
inline constexpr std::size_t exact_moments_workspace_bytes =
    (most_moment_words * sizeof(acc::exact::Word) + 255) / 256 * 256;

/// Where a group's states are: of Σx, and of Σx², one, or, of doubles, three. Those of group i are number i; or, cut into slots, from first on.
struct MomentStates {
    const acc::exact::Word* sum;
    const acc::exact::Word* squares;
    bool of_doubles;
    std::uint32_t sum_step, square_step; ///< words from one to the next
};

/// A group that was cut into slots.
struct GroupCut {
    static constexpr std::uint64_t invalid = ~std::uint64_t{0};
    std::uint64_t first, slots; ///< slots: invalid where the offsets are no segment
};

/// Rounds what the states of `count` groups make to where `result` and what is behind it say. The numbers of elements are those that the states have.
[[nodiscard]] Status launch_moments_finish(const MomentStates& states, std::uint64_t count,
                                           const acc::MomentsResult& result, Stream stream, const DeviceTraits& device,
                                           const GroupCut* cuts = nullptr);

/// Rows, columns and segments: some thousand groups at a time are cut into slots, whose states fit into a workspace.
struct MomentGroupsLayout {
    std::uint64_t at_once, room; ///< groups and slots
    std::uint32_t length;        ///< of a slot
    std::size_t cuts, slots, sums, squares, bytes;

    explicit MomentGroupsLayout(const Request& r);
};

} // namespace detreduce::cuda
