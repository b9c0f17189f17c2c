// A block's reduction by warp shuffles: what K6 is about, and what everything above it uses.
#pragma once

#include <cstdint>

namespace detreduce::ladder {

__device__ __forceinline__ float from_lane_above(float value, int distance) {
    return __shfl_down_sync(0xffffffffu, value, distance);
}

/// Lane 0 has the result of its warp. All threads of the warp take part: what has no element brings
/// what changes nothing.
template <class T, class Merge>
__device__ __forceinline__ T warp_down(T value, const Merge& merge) {
#pragma unroll
    for (int distance = 16; distance >= 1; distance /= 2)
        value = merge(value, from_lane_above(value, distance));
    return value;
}

/// Thread 0 has the result of its block. Before a block calls this again it must meet at a barrier,
/// behind which the numbers of the former call have been read.
template <class T, class Merge>
__device__ __forceinline__ T block_down(T value, const T& nothing, const Merge& merge) {
    __shared__ T warps[32];
    const std::uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    value = warp_down(value, merge);
    if (lane == 0) warps[warp] = value;
    __syncthreads();
    if (warp == 0) value = warp_down(lane < blockDim.x / 32 ? warps[lane] : nothing, merge);
    return value;
}

struct Add {
    __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

__device__ __forceinline__ float block_sum(float value) {
    return block_down(value, 0.0f, Add{});
}

} // namespace detreduce::ladder
