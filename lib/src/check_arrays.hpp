// What run() says about its arrays, for whatever else runs a plan.
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce {

/// Is `out` aligned to the results of the plan?
[[nodiscard]] Status check_out(const Plan& plan, const void* out) noexcept;
[[nodiscard]] Status check_arrays(const Plan& plan, const Inputs& in, const void* out) noexcept;

} // namespace detreduce
