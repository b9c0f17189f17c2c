#include "cub_ops.cuh"

template struct detreduce::report::gpu::CubOps<float>;
