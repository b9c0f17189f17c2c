// Softmax, fused: two passes for the maximum and the sum, and one that writes, in one kernel.
//
// Changed: a block does all three steps of its row, one after the other.
// Why it should help: one launch, nothing but the result is stored; and a row that was just read is
// still in the cache when it is read again, if rows are short.
// Measured: table "Softmax" of `detreduce ladder`, rung "fused two-pass".
#pragma once

#include "softmax.cuh"

namespace detreduce::ladder {

__global__ void softmax_fused(const float* x, std::uint64_t n, float* out) {
    const float* const row = x + blockIdx.x * n;
    const float m = row_maximum(row, n);
    write_row(row, n, m, row_exp_sum(row, n, m), out + blockIdx.x * n);
}

struct SoftmaxFused {
    static Needs needs(const Shape& shape, const Settings& settings) { return needs_of_rows(shape, settings, 1, 0); }
    static Status run(const Call& call, const Needs&, Stream stream) {
        return launch_rows(call, softmax_fused, stream, call.x, call.shape.length, call.out);
    }
};

} // namespace detreduce::ladder
