// What run() says about its pointers, for whatever else runs a plan.
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce {

[[nodiscard]] Status check_run(const Plan& plan, const Inputs& in, const void* out, const void* workspace) noexcept;

} // namespace detreduce
