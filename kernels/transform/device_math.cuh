// Before the other kernels' headers: a program that includes transform_reduce.cuh may have the
// CPU's detreduce::min and max too, and those would hide CUDA's from the kernels.
#pragma once

#include <cuda_runtime.h>

namespace detreduce::cuda {
using ::max;
using ::min;
} // namespace detreduce::cuda
