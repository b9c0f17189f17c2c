#include <cuda_bf16.h>

#include "cub_ops.cuh"

template struct detreduce::report::gpu::CubOps<__nv_bfloat16>;
