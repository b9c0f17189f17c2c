// Programmatic dependent launch (Hopper and later): the next kernel is made ready while this one runs, and waits until this one's
// results are there. Elsewhere the stream's order does it.
#pragma once

namespace detreduce::cuda {

__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

} // namespace detreduce::cuda
