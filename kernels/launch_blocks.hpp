// How many blocks read an input once, in tiles that any block may take.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "sequence/launch.hpp"
#include "platform/launch_kernel.hpp"
#include "policies.hpp"

namespace detreduce::cuda {

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

} // namespace detreduce::cuda
