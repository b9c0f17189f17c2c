// Where a plan's mean and variance go.
#pragma once

#include <detreduce/acc/moments.hpp>
#include <detreduce/plan.hpp>

namespace detreduce::cuda {

[[nodiscard]] inline acc::MomentsResult moments_result(const Plan& plan, void* out) {
    const Request& r = plan.request();
    return {out, plan.output(), static_cast<std::uint32_t>(plan.result_bytes()), r.op, r.n, r.ddof};
}

} // namespace detreduce::cuda
