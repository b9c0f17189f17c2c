// The rungs of each family, one source file each; ladder.cpp puts them together.
#pragma once

#include "ladder.hpp"

namespace detreduce::ladder {

[[nodiscard]] std::span<const Rung> flat_rungs();
[[nodiscard]] std::span<const Rung> batched_rungs();
[[nodiscard]] std::span<const Rung> three_level_rungs();
[[nodiscard]] std::span<const Rung> softmax_rungs();

template <class Way>
constexpr Rung rung(std::string_view name, std::string_view title, Family family, Guarantee guarantee,
                    std::uint32_t passes, bool is_coarsened) {
    return {name, title, family, guarantee, passes, is_coarsened, Way::needs, Way::run};
}

} // namespace detreduce::ladder
