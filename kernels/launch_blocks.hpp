// How many blocks read an input once, in tiles that any block may take.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "flat/launch.hpp"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {

/// At most `useful`: as many as the device holds, or three times that where there is enough to do, as the end is then less ragged. Where the
/// plan says how many, `useful` is not more than that.
template <class Kernel>
[[nodiscard]] Status choose_blocks(const Plan& plan, const DeviceTraits& device, Kernel kernel, std::uint32_t useful,
                                   std::uint32_t& blocks) {
    blocks = useful;
    if (plan.launch().grid != 0) return {};
    std::uint32_t resident = 0;
    const Status status = count_resident(kernel, plan.launch().block, 0, device, resident);
    const bool large = useful / 16 >= resident;
    blocks = std::min(useful, large ? 3 * resident : resident);
    return status;
}

} // namespace detreduce::cuda
