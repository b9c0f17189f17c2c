// What one launch of a rung works on: rows, cut into pieces, one block each.
#pragma once

#include <cstdint>

namespace detreduce::ladder {

struct Level {
    const float* x;       ///< rows of `length`, one behind the other
    float* out;           ///< one number a piece, or with atomics a row
    float* scratch;       ///< a part a block, of the rungs that work in global memory
    std::uint64_t length; ///< of a row
    std::uint32_t pieces; ///< of each row
    std::uint32_t per_thread;
    bool coalesced;
};

struct Piece {
    const float* x;
    std::uint32_t n, row;
};

/// That of this block, where blocks take `elements` each. The last of a row may be shorter, and
/// that of an empty row has none.
__device__ __forceinline__ Piece piece_of(const Level& level, std::uint32_t elements) {
    const std::uint32_t row = level.pieces == 1 ? blockIdx.x : blockIdx.x / level.pieces;
    const std::uint64_t begin = std::uint64_t{blockIdx.x - row * level.pieces} * elements;
    const std::uint64_t rest = level.length - begin;
    return {level.x + row * level.length + begin, static_cast<std::uint32_t>(rest < elements ? rest : elements), row};
}

__device__ __forceinline__ float element(const Piece& piece, std::uint32_t i) {
    return i < piece.n ? piece.x[i] : 0.0f;
}

/// Where the rungs of shared memory keep a number a thread.
extern __shared__ float shared[];

/// Sequential addressing with the barrier in front of each step: thread 0 has the sum in
/// shared[0] (K3 says why that suffices).
__device__ __forceinline__ void sequential_tree() {
    for (std::uint32_t stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride) shared[threadIdx.x] += shared[threadIdx.x + stride];
    }
}

/// The elements of this thread of a coarsened rung, one after the other. Eight loads are in flight
/// where all elements are there.
__device__ __forceinline__ float thread_sum(const Level& level, const Piece& piece) {
    const std::uint32_t first = level.coalesced ? threadIdx.x : threadIdx.x * level.per_thread;
    const std::uint32_t step = level.coalesced ? blockDim.x : 1;
    float sum = 0;
    if (piece.n == blockDim.x * level.per_thread) {
#pragma unroll 8
        for (std::uint32_t k = 0; k < level.per_thread; ++k)
            sum += piece.x[first + k * step];
    } else {
        for (std::uint32_t k = 0; k < level.per_thread; ++k)
            sum += element(piece, first + k * step);
    }
    return sum;
}

} // namespace detreduce::ladder
