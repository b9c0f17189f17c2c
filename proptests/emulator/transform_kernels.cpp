// What nvcc compiles of the tests of transform_reduce.
#define __CUDACC__ // what transform_reduce.cuh asks for; CUDA's own headers came before
#include "laws/transform_kernels_f16.cu"
#include "laws/transform_kernels_f32.cu"
#include "laws/transform_kernels_f64.cu"
