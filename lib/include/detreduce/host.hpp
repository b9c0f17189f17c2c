// Sums of data in host memory, on the CPU.
#pragma once

#include <span>

#include <detreduce/plan.hpp>

namespace detreduce {

/// Sum of `x` on the CPU: the value that run() computes, returned. The bits of `tree` are those of the CUDA backend.
///
/// formula      x[0] + x[1] + … + x[n−1], added in the order that lib/SPEC.md gives for the method
/// dtypes       float, double
/// guarantee    info(method).guarantee; `launch` (threads, instruction set) never changes a bit of `tree`
/// error bound  as run()
/// workspace    none; with one thread nothing is allocated
/// errors       throws Error when the method is not offered on the CPU or launch.threads is out of range
/// NaN, empty   as run()
[[nodiscard]] float sum(std::span<const float> x, Method method = Method::tree, const Launch& launch = {});
[[nodiscard]] double sum(std::span<const double> x, Method method = Method::tree, const Launch& launch = {});

/// Instruction sets that this processor and this build offer, baseline first.
[[nodiscard]] std::span<const Isa> available_isas() noexcept;

} // namespace detreduce
