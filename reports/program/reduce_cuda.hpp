// The GPU side of `detreduce reduce`: reduce_cuda.cpp in a build with CUDA, reduce_no_cuda.cpp otherwise.
#pragma once

#include <detreduce/plan.hpp>

namespace detreduce::program {

/// Copies the elements at host pointer `x` to the request's CUDA device, reduces them there and copies the result to `out`.
/// Throws Failure.
void reduce_on_cuda(const Request& request, const void* x, void* out);

} // namespace detreduce::program
