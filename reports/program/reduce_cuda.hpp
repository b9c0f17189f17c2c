// The GPU side of `detreduce reduce` and `detreduce verify`: reduce_cuda.cpp in a build with CUDA,
// reduce_no_cuda.cpp otherwise.
#pragma once

#include <memory>

#include <detreduce/plan.hpp>

#include "exact_sum.hpp"
#include "golden/memory.hpp"

namespace detreduce::program {

/// Copies the elements, offsets and tensors that `in` points to on the host to the request's CUDA
/// device, reduces them there and copies the results to `out`.
/// Throws Failure.
void reduce_on_cuda(const Request& request, const Inputs& in, void* out);

/// Of CUDA device `index`. What it does throws Failure.
[[nodiscard]] std::unique_ptr<golden::Memory> cuda_memory(int index);

/// On top of what `start` holds, on CUDA device `index`: a block is copied there while the next one
/// is read. Throws Failure.
[[nodiscard]] std::unique_ptr<ExactSum> exact_sum_on_cuda(const ExactState& start, int index);

} // namespace detreduce::program
