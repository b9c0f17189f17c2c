// The memory of a rank whose elements are on a GPU. nccl.hpp and mpi_cuda.hpp
// include this.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include <detreduce/cuda_scope.hpp>

namespace detreduce::detail {

struct CudaFree {
    void operator()(void* memory) const { (void)cudaFree(memory); }
};
using CudaMemory = std::unique_ptr<void, CudaFree>;
struct CudaFreeHost {
    void operator()(void* memory) const { (void)cudaFreeHost(memory); }
};
using CudaHostMemory = std::unique_ptr<void, CudaFreeHost>; ///< page-locked

} // namespace detreduce::detail
