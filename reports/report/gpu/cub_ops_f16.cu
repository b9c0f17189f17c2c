#include <cuda_fp16.h>

#include "cub_ops.cuh"

template struct detreduce::report::gpu::CubOps<__half>;
