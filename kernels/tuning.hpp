// Launch parameters, measured (reports/results/). They change speed and never a bit.
#pragma once

#include <cstdint>

#include <detreduce/types.hpp>

namespace detreduce::cuda {

struct Tuning {
    std::uint64_t tiles; ///< for up to this many tiles of 32 KiB
    Schedule schedule;
    std::uint32_t block; ///< threads a block
};

inline constexpr Tuning tuning_table[] = {
    {UINT64_MAX, Schedule::two_pass, 256},
};

[[nodiscard]] constexpr const Tuning& tuning(std::uint64_t tiles) {
    const Tuning* row = tuning_table;
    while (row->tiles < tiles)
        ++row;
    return *row;
}

} // namespace detreduce::cuda
