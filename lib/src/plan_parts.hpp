// What makes plans: make_plan(), and for terms that are computed plan_transform().
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce::detail {

struct PlanParts {
    /// The plan of `request`; `computed`: of terms that a function makes of the elements, as a sum
    /// or mean of these.
    [[nodiscard]] static Plan make(const Request& request, bool computed) noexcept;
    /// The same on the CPU, of what a plan that was made is a part of: nothing is checked or
    /// chosen. The method and all of the launch are named.
    [[nodiscard]] static Plan part(const Request& request, bool computed) noexcept;
    /// What remains when elements have been converted to f16, rows of them next to each other;
    /// groups across rows are columns then.
    [[nodiscard]] static Request in_f16(Request request) noexcept {
        if (!info(request.op).gives_integer) request.output = request.output.value_or(request.dtype);
        request.dtype = DType::f16;
        request.stride = 0;
        if (is_across(request.shape)) request.shape = Shape::columns;
        return request;
    }
    [[nodiscard]] static Plan in_f16(const Plan& plan) noexcept {
        Plan wide = plan;
        wide.request_ = in_f16(plan.request());
        return wide;
    }
};

} // namespace detreduce::detail
