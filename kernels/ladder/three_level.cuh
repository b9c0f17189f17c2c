// The template that kernels are made of in practice: threads add what they read, warps by shuffles,
// blocks through shared memory. A grid of as many blocks as the device holds walks over the input.
// How the blocks' sums become one is the ending, and each ending is a rung: three_*.cuh.
#pragma once

#include "platform/launch_kernel.hpp"
#include "ladder.hpp"
#include "levels.hpp"
#include "shuffle.cuh"
#include "vector_sum.cuh"

namespace detreduce::ladder {

/// Thread 0 has what this block reads of x[0 … n).
__device__ __forceinline__ float block_part(const float* x, std::uint64_t n) {
    const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    return block_sum(vector_sum(x, n, thread, std::uint64_t{gridDim.x} * blockDim.x));
}

/// Thread 0 has the sum of the blocks' partial sums, of all threads of one block.
__device__ __forceinline__ float sum_of_parts(const float* parts, std::uint32_t count) {
    return block_sum(vector_sum(parts, count, threadIdx.x, blockDim.x));
}

/// Of the current device, but no more than have a tile each of 16 elements a thread. 0, with a
/// status, when CUDA refuses.
template <class Kernel>
[[nodiscard]] Status grid_for(Kernel kernel, const Shape& shape, const Settings& settings, std::uint32_t& blocks) {
    cuda::DeviceTraits traits;
    int device = 0, sms = 0;
    Status status = cuda::from_cuda("cudaGetDevice", cudaGetDevice(&device));
    if (status.ok())
        status = cuda::from_cuda("cudaDeviceGetAttribute",
                                 cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    if (!status.ok()) return status;
    traits.sms = static_cast<std::uint32_t>(sms);
    status = cuda::count_resident(kernel, settings.threads, 0, traits, blocks);
    const std::uint64_t tile = std::uint64_t{settings.threads} * 16, useful = shape.length / tile + 1;
    if (useful < blocks) blocks = static_cast<std::uint32_t>(useful);
    return status;
}

inline std::uint64_t vector_additions(std::uint64_t n, std::uint64_t threads) {
    return n / (4 * threads) + 5;
}

/// Parts of floats in the workspace, and behind them a counter, which only the last-block ending
/// has.
struct GridOfBlocks {
    std::uint32_t blocks;
    [[nodiscard]] std::size_t counter() const { return (std::size_t{blocks} * sizeof(float) + 255) / 256 * 256; }
    [[nodiscard]] std::size_t bytes() const { return counter() + sizeof(std::uint32_t); }
};

/// `ending` is the most additions behind those of a block, for so many blocks.
template <class Kernel>
[[nodiscard]] Needs needs_of_grid(Kernel kernel, const Shape& shape, const Settings& settings, std::uint32_t launches,
                                  std::uint64_t (*finalize)(std::uint64_t blocks, const Settings&)) {
    Needs needs;
    if (shape.rows != 1) {
        needs.status = {StatusCode::unsupported, "shape", "three-level rungs reduce one row"};
        return needs;
    }
    GridOfBlocks grid{};
    needs.status = grid_for(kernel, shape, settings, grid.blocks);
    needs.workspace = grid.bytes();
    needs.launches = launches;
    needs.additions = vector_additions(shape.length, std::uint64_t{grid.blocks} * settings.threads) +
                      log2_of(settings.threads) + finalize(grid.blocks, settings);
    return needs;
}

/// That of sum_of_parts().
inline std::uint64_t additions_of_parts(std::uint64_t blocks, const Settings& settings) {
    return vector_additions(blocks, settings.threads) + log2_of(settings.threads);
}
inline std::uint64_t one_after_the_other(std::uint64_t blocks, const Settings&) {
    return blocks;
}

} // namespace detreduce::ladder
