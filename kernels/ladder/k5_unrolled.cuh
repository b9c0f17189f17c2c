// K5, the last warp without barriers (Harris, reduction #5), and all of the tree unrolled (#6).
//
// Changed in "K5 last warp": when 32 threads remain, they are one warp, and need no barrier of the
// block, only one of the warp.
// Changed in "K5 unrolled": the number of threads is a constant, so that loop and tests are gone; a
// kernel for each number.
// Why it should help: the tree's last six steps are instructions of one warp, while the other warps
// have ended.
//
// What was wrong without __syncwarp(): Harris's code of 2007 has none, only `volatile`. It counted
// on a warp being in step, each instruction executed by all 32 threads before the next. Since Volta
// threads of a warp advance on their own, and nothing orders lane 16's store to shared[16] before
// or after lane 0's load of it. `volatile` keeps the compiler from holding numbers in registers; it
// orders nothing between threads. Such code may give right sums for years, until a compiler splits
// a branch. So here each step is: load, __syncwarp(), store, __syncwarp(); the first, as
// lanes 16 … 31 store to where lanes below have yet to read.
// Measured: table "The ladder" of `detreduce ladder`, rungs "K5 last warp" and "K5 unrolled".
#pragma once

#include "levels.hpp"

namespace detreduce::ladder {

/// Of the first 64 numbers, by the first warp.
__device__ __forceinline__ void last_warp() {
    const std::uint32_t t = threadIdx.x;
#pragma unroll
    for (std::uint32_t stride = 32; stride > 0; stride /= 2) {
        const float sum = shared[t] + shared[t + stride];
        __syncwarp();
        shared[t] = sum;
        __syncwarp();
    }
}

__global__ void k5_last_warp(Level level) {
    shared[threadIdx.x] = thread_sum(level, piece_of(level, blockDim.x * level.per_thread));
    for (std::uint32_t stride = blockDim.x / 2; stride > 32; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
    }
    __syncthreads();
    if (threadIdx.x < 32) last_warp();
    if (threadIdx.x == 0) level.out[blockIdx.x] = shared[0];
}

template <std::uint32_t threads>
__global__ void k5_unrolled(Level level) {
    shared[threadIdx.x] = thread_sum(level, piece_of(level, threads * level.per_thread));
#pragma unroll
    for (std::uint32_t stride = threads / 2; stride > 32; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
    }
    __syncthreads();
    if (threadIdx.x < 32) last_warp();
    if (threadIdx.x == 0) level.out[blockIdx.x] = shared[0];
}

using K5LastWarp = ByLevels<k5_last_warp, coarsened>;

struct K5Unrolled {
    static Kernel of(std::uint32_t threads) {
        switch (threads) {
        case 64:
            return k5_unrolled<64>;
        case 128:
            return k5_unrolled<128>;
        case 256:
            return k5_unrolled<256>;
        case 512:
            return k5_unrolled<512>;
        default:
            return k5_unrolled<1024>;
        }
    }
    static Needs needs(const Shape& shape, const Settings& settings) { return K5LastWarp::needs(shape, settings); }
    static Status run(const Call& call, const Needs&, Stream stream) {
        return run_levels(call, coarsened(call.settings), of(call.settings.threads), call.settings.threads, stream);
    }
};

} // namespace detreduce::ladder
