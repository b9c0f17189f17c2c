// Launch parameters, measured: reports/results/. They change speed and never a bit.
#pragma once

#include <cstdint>

#include <detreduce/types.hpp>

namespace detreduce::cuda {

struct Tuning {
    Schedule schedule;
    std::uint32_t block;            ///< threads a block
    std::uint32_t fine_tiles_per_sm; ///< the last tiles are dealt one a team, this many a multiprocessor; the rest in bulk
};

/// What to use for `tiles` tiles (32 KiB each) on a device with `sms` multiprocessors.
[[nodiscard]] constexpr Tuning tuning(std::uint64_t tiles, std::uint32_t sms) {
    const std::uint32_t fine = 16;
    if (tiles <= 1) return {Schedule::two_pass, 256, fine};
    (void)sms;
    return {Schedule::last_block, 256, fine};
}

} // namespace detreduce::cuda
