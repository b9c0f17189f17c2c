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

/// Rounds what two states make, or, of doubles, four, to where `result` says.
[[nodiscard]] Status launch_moments_finish(const acc::exact::Word* states, bool of_doubles,
                                           const acc::MomentsResult& result, Stream stream);

} // namespace detreduce::cuda
