// What makes plans: make_plan(), and for terms that are computed plan_transform().
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce::detail {

struct PlanParts {
    /// The plan of `request`; `computed`: of terms that a function makes of the elements, as a sum or mean of these.
    [[nodiscard]] static Plan make(const Request& request, bool computed) noexcept;
    /// The same on the CPU, of what a plan that was made is a part of: nothing is checked or chosen. The method and all of the launch are named.
    [[nodiscard]] static Plan part(const Request& request, bool computed) noexcept;
};

} // namespace detreduce::detail
