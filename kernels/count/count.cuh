// What ops that count share: integers are added, so that no order matters.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>

#include "launch_blocks.hpp"
#include "launch_kernel.hpp"
#include "order/order.cuh"

namespace detreduce::cuda::count {

using Count = unsigned long long; ///< what atomicAdd takes for a std::uint64_t
inline constexpr int max_threads = order::max_threads, max_warps = max_threads / warp_size;

/// Adds what every thread of every block counted to *total, which was zero. All threads call this.
__device__ __forceinline__ void add_up(Count mine, Count* total) {
    __shared__ Count of_warp[max_warps];
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2)
        mine += __shfl_down_sync(all_threads, mine, distance);
    if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int w = 1; w < static_cast<int>(blockDim.x) / warp_size; ++w)
        mine += of_warp[w];
    if (gridDim.x == 1) {
        *total = mine;
    } else if (mine != 0) {
        atomicAdd(total, mine);
    }
}

/// Makes *total zero, unless one block alone, which stores its count, is to follow.
[[nodiscard]] inline Status start_from_zero(Count* total, std::uint32_t blocks, Stream stream) {
    if (blocks == 1) return {};
    return from_cuda("cudaMemsetAsync", cudaMemsetAsync(total, 0, sizeof *total, stream));
}

} // namespace detreduce::cuda::count
