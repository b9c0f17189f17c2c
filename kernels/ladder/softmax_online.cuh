// Softmax, online: maximum and sum in one pass (Milakov & Gimelshein, 2018), and one that writes.
//
// Changed: a thread keeps the maximum so far and the sum relative to it, and scales the sum when a
// larger one comes; two such pairs merge the same way.
// Why it should help: x is read twice instead of three times, which rows too long for the cache
// feel; what it costs is an exponential more an element.
// Its numbers: each merge may round twice more, in the scale and in the product.
// Measured: table "Softmax" of `detreduce ladder`, rung "online one-pass".
#pragma once

#include "softmax.cuh"

namespace detreduce::ladder {

/// Σe^(x − m) of the elements so far, m the maximum of them.
struct Online {
    float m, sum;
};

__device__ __forceinline__ Online from_lane_above(const Online& value, int distance) {
    return {from_lane_above(value.m, distance), from_lane_above(value.sum, distance)};
}

struct MergeOnline {
    /// Not of two infinities, whose difference is none.
    static __device__ __forceinline__ float scaled(const Online& part, float m) {
        return part.m == m ? part.sum : part.sum * math::exp(part.m - m);
    }
    __device__ __forceinline__ Online operator()(const Online& a, const Online& b) const {
        const float m = Greater{}(a.m, b.m);
        return {m, scaled(a, m) + scaled(b, m)};
    }
};

__global__ void softmax_online(const float* x, std::uint64_t n, float* out) {
    const float* const row = x + blockIdx.x * n;
    const Online nothing{below_all(), 0};
    Online part = nothing;
    for (std::uint64_t i = threadIdx.x; i < n; i += blockDim.x)
        part = MergeOnline{}(part, {row[i], 1});
    const Online all = to_all(block_down(part, nothing, MergeOnline{}));
    write_row(row, n, all.m, all.sum, out + blockIdx.x * n);
}

struct SoftmaxOnline {
    static Needs needs(const Shape& shape, const Settings& settings) { return needs_of_rows(shape, settings, 1, 0); }
    static Status run(const Call& call, const Needs&, Stream stream) {
        return launch_rows(call, softmax_online, stream, call.x, call.shape.length, call.out);
    }
};

} // namespace detreduce::ladder
