// What is done for each of many numbers, one at a time and alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/grid.cuh"
#include "platform/launch_kernel.hpp"

namespace detreduce::cuda {

inline constexpr std::uint32_t for_each_threads = 256;
inline constexpr std::uint64_t for_each_most = 0x7fffffff; ///< blocks

/// Blocks that a multiprocessor is to hold: F::blocks, or as it comes.
template <class F>
inline constexpr int for_each_blocks = 0;
template <class F>
requires requires {
    F::blocks;
}
inline constexpr int for_each_blocks<F> = F::blocks;

template <class F>
__global__ void __launch_bounds__(for_each_threads, for_each_blocks<F>)
    for_each_kernel(std::uint64_t count, const __grid_constant__ F f) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
        f(i);
}

/// f(i) for every i below `count`, on the device, by `most` blocks at most. Threads of a warp have
/// neighbouring i, all 32 if `count` is a multiple of that.
template <class F>
[[nodiscard]] Status for_each(std::uint64_t count, const F& f, Stream stream, std::uint64_t most = for_each_most,
                              std::uint32_t threads = for_each_threads) {
    const std::uint64_t blocks = std::clamp<std::uint64_t>((count + threads - 1) / threads, 1, most);
    return launch_kernel(LaunchKind::plain, for_each_kernel<F>, static_cast<std::uint32_t>(blocks), threads, 0, stream,
                         count, f);
}

/// Of clear().
struct Clear {
    std::uint64_t* words;
    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        let_next_kernel_start();
        words[i] = 0;
    }
};
/// Makes so many bytes zero, a multiple of 8. cudaMemsetAsync() takes a host three times as long. A
/// kernel that is launched after it as LaunchKind::after_previous may begin before it has ended.
[[nodiscard]] inline Status clear(void* at, std::uint64_t bytes, Stream stream) {
    return for_each(bytes / sizeof(std::uint64_t), Clear{static_cast<std::uint64_t*>(at)}, stream);
}

} // namespace detreduce::cuda
