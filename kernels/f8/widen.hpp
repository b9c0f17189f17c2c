// Elements of 8 bits on a GPU that are not read as they are (bytes.hpp): they are converted to f16,
// which has the same bits of every result (lib/SPEC.md, section 1), in the workspace, and then
// reduced by the kernels of that.
#pragma once

#include <cstddef>

#include <detreduce/plan.hpp>

namespace detreduce::cuda {

/// Bytes behind the workspace of the plan in f16: a multiple of 256.
[[nodiscard]] std::size_t widened_bytes(const Request& r);
/// Writes the elements as f16, rows of them next to each other, to `memory`; `wide` is where they
/// are.
[[nodiscard]] Status launch_widen(const Plan& plan, const Inputs& in, void* memory, Inputs& wide, Stream stream);

} // namespace detreduce::cuda
