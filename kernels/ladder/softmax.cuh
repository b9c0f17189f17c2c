// What the rungs of softmax share: the maximum of a row and Σe^(x − m), by one block. e^x is
// detreduce::math's.
#pragma once

#include <detreduce/math/exp.hpp>

#include "levels.hpp"
#include "shuffle.cuh"

namespace detreduce::ladder {

/// A NaN counts as the maximum, so that it comes through.
struct Greater {
    __device__ __forceinline__ float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

/// One number, of thread 0, for all threads; a barrier on both sides.
template <class T>
__device__ __forceinline__ T to_all(const T& value) {
    __shared__ T kept;
    __syncthreads();
    if (threadIdx.x == 0) kept = value;
    __syncthreads();
    return kept;
}

/// The maximum of nothing.
__device__ __forceinline__ float below_all() {
    return -__builtin_huge_valf();
}

__device__ __forceinline__ float row_maximum(const float* x, std::uint64_t n) {
    float m = below_all();
    for (std::uint64_t i = threadIdx.x; i < n; i += blockDim.x)
        m = Greater{}(m, x[i]);
    return to_all(block_down(m, below_all(), Greater{}));
}

__device__ __forceinline__ float row_exp_sum(const float* x, std::uint64_t n, float m) {
    float sum = 0;
    for (std::uint64_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += math::exp(x[i] - m);
    return to_all(block_sum(sum));
}

__device__ __forceinline__ void write_row(const float* x, std::uint64_t n, float m, float sum, float* out) {
    for (std::uint64_t i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = math::exp(x[i] - m) / sum;
}

inline std::uint64_t row_additions(const Shape& shape, const Settings& settings) {
    return shape.length / settings.threads + 1 + log2_of(settings.threads);
}

inline Needs needs_of_rows(const Shape& shape, const Settings& settings, std::uint32_t launches,
                           std::size_t floats_a_row) {
    Needs needs;
    needs.status = check_blocks({shape.rows, 1}, {1, 0, 0});
    needs.workspace = shape.rows * floats_a_row * sizeof(float);
    needs.launches = launches;
    needs.additions = row_additions(shape, settings);
    return needs;
}

template <class... Parameters, class... Arguments>
Status launch_rows(const Call& call, void (*kernel)(Parameters...), Stream stream, const Arguments&... arguments) {
    return cuda::launch_kernel(cuda::LaunchKind::plain, kernel, dim3(static_cast<std::uint32_t>(call.shape.rows)),
                               call.settings.threads, 0, stream, arguments...);
}

} // namespace detreduce::ladder
