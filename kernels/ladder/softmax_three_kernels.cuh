// Softmax, three kernels: the maximum of each row, the sum of its exponentials, the quotients.
//
// What it does: what the formula says, a launch a step; x is read three times from memory and the
// result written once.
// What is wrong with it: memory is all that a softmax waits for, and it moves four arrays where two
// would do.
// Measured: table "Softmax" of `detreduce ladder`, rung "three kernels".
#pragma once

#include "softmax.cuh"

namespace detreduce::ladder {

__global__ void softmax_maximum(const float* x, std::uint64_t n, float* maximum) {
    const float m = row_maximum(x + blockIdx.x * n, n);
    if (threadIdx.x == 0) maximum[blockIdx.x] = m;
}
__global__ void softmax_sum(const float* x, std::uint64_t n, const float* maximum, float* sums) {
    const float sum = row_exp_sum(x + blockIdx.x * n, n, maximum[blockIdx.x]);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void softmax_quotients(const float* x, std::uint64_t n, const float* maximum, const float* sums,
                                  float* out) {
    write_row(x + blockIdx.x * n, n, maximum[blockIdx.x], sums[blockIdx.x], out + blockIdx.x * n);
}

struct SoftmaxThreeKernels {
    static Needs needs(const Shape& shape, const Settings& settings) { return needs_of_rows(shape, settings, 3, 2); }
    static Status run(const Call& call, const Needs&, Stream stream) {
        const std::uint64_t n = call.shape.length;
        auto* const maximum = static_cast<float*>(call.workspace);
        float* const sums = maximum + call.shape.rows;
        Status status = launch_rows(call, softmax_maximum, stream, call.x, n, maximum);
        if (status.ok())
            status = launch_rows(call, softmax_sum, stream, call.x, n, static_cast<const float*>(maximum), sums);
        if (!status.ok()) return status;
        return launch_rows(call, softmax_quotients, stream, call.x, n, static_cast<const float*>(maximum),
                           static_cast<const float*>(sums), call.out);
    }
};

} // namespace detreduce::ladder
