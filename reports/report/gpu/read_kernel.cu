// The yardstick: a kernel that loads every byte and does nothing else that takes time. Which launch
// is fastest differs from size to size and GPU to GPU, so several are tried.
#include <algorithm>
#include <memory>

#include "contenders.hpp"

namespace detreduce::report::gpu {
namespace {

__device__ void fold_in(uint4& fold, const uint4& v) {
    fold.x ^= v.x;
    fold.y ^= v.y;
    fold.z ^= v.z;
    fold.w ^= v.w;
}

// Each thread has `Unroll` 16-byte loads in flight before it uses the first (the 1 in
// __launch_bounds__ lets the compiler keep the registers for that; without it, it split them to
// gain occupancy). The store never happens (the fold would have to equal 128 given bits), but the
// compiler cannot know, so it cannot drop the loads.
template <int Block, int Unroll>
__global__ void __launch_bounds__(Block, 1)
    read_kernel(const uint4* __restrict__ x, std::uint64_t vectors, const unsigned* __restrict__ tail,
                unsigned tail_words, uint4 never, uint4* out) {
    constexpr std::uint64_t tile = std::uint64_t{Block} * Unroll;
    const std::uint64_t tiles = vectors / tile;
    uint4 fold = make_uint4(0, 0, 0, 0);
    for (std::uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const uint4* p = x + t * tile + threadIdx.x;
        uint4 v[Unroll];
#pragma unroll
        for (int u = 0; u < Unroll; ++u)
            v[u] = __ldcs(p + u * Block);
#pragma unroll
        for (int u = 0; u < Unroll; ++u)
            fold_in(fold, v[u]);
    }
    for (std::uint64_t i = tiles * tile + std::uint64_t{blockIdx.x} * Block + threadIdx.x; i < vectors;
         i += std::uint64_t{gridDim.x} * Block)
        fold_in(fold, __ldcs(x + i));
    if (blockIdx.x == 0 && threadIdx.x < tail_words) fold.x ^= tail[threadIdx.x];
    if (fold.x == never.x && fold.y == never.y && fold.z == never.z && fold.w == never.w) *out = fold;
}

int resident_blocks(const void* kernel, int block) {
    int device = 0, sms = 0, per_sm = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, block, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return std::max(1, sms * per_sm);
}

// One block a tile, or no more blocks than are resident at once.
template <int Block, int Unroll>
void add(std::vector<Contender>& list, std::uint64_t bytes) {
    const std::uint64_t vectors = bytes / 16, per_block = std::uint64_t{Block} * Unroll;
    const auto needed =
        static_cast<unsigned>(std::clamp<std::uint64_t>((vectors + per_block - 1) / per_block, 1, 0x7fffffff));
    const auto resident =
        static_cast<unsigned>(resident_blocks(reinterpret_cast<const void*>(&read_kernel<Block, Unroll>), Block));
    const auto out = std::make_shared<DeviceMemory>(sizeof(uint4));
    for (const unsigned grid : {needed, resident}) {
        if (grid == resident && resident >= needed) continue; // the same launch
        list.push_back({"read",
                        std::to_string(Block) + "x" + std::to_string(Unroll) +
                            (grid == needed ? " one tile a block" : " resident"),
                        [=](const void* x, cudaStream_t stream) {
                            const auto* tail = static_cast<const unsigned*>(x) + vectors * 4;
                            const uint4 never = make_uint4(0x5bd1e995u, 0x1b873593u, 0xcc9e2d51u, 0x85ebca6bu);
                            read_kernel<Block, Unroll><<<grid, Block, 0, stream>>>(
                                static_cast<const uint4*>(x), vectors, tail, static_cast<unsigned>(bytes % 16 / 4),
                                never, static_cast<uint4*>(out->get()));
                            check(cudaGetLastError(), "launch of read_kernel");
                        }});
    }
}

} // namespace

std::vector<Contender> read_contenders(DType dtype, std::uint64_t n) {
    const std::uint64_t bytes = n * size_of(dtype);
    std::vector<Contender> list;
    add<128, 1>(list, bytes);
    add<256, 1>(list, bytes);
    add<256, 2>(list, bytes);
    add<256, 4>(list, bytes);
    add<256, 8>(list, bytes);
    add<256, 16>(list, bytes);
    add<512, 2>(list, bytes);
    add<512, 4>(list, bytes);
    add<512, 8>(list, bytes);
    add<1024, 4>(list, bytes);
    return list;
}

} // namespace detreduce::report::gpu
