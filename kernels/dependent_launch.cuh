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
/// The first of two passes through a kernel that has little to do: pass 0 does it with nothing, before it waits, so that its instructions are there when pass 1 has
/// something. Where kernels do not overlap that would only take time.
__device__ __forceinline__ constexpr int first_pass() {
#if __CUDA_ARCH__ >= 900
    return 0;
#else
    return 1;
#endif
}

} // namespace detreduce::cuda
