// What run() says about its arrays, for whatever else runs a plan.
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce {

[[nodiscard]] Status check_arrays(const Plan& plan, const Inputs& in, const void* out) noexcept;

} // namespace detreduce
