// count_nonzero: one pass, 16 bytes at a time.
#include "count/count.cuh"
#include "count/launch.hpp"
#include "count/nonzeros.cuh"

namespace detreduce::cuda {
namespace count {

template <class T>
__global__ void __launch_bounds__(max_threads, 4)
    nonzero_kernel(const __grid_constant__ order::Tiles<T> tiles, Count* total) {
    const std::uint32_t warps = blockDim.x / warp_size, threads = gridDim.x * blockDim.x;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * warps;
    Count mine = 0;
    for (std::uint64_t tile = std::uint64_t{blockIdx.x} * warps + threadIdx.x / warp_size; tile < tiles.full;
         tile += stride) {
        const order::Vectors current = tiles.load(tile);
        std::uint32_t here = 0;
#pragma unroll
        for (int i = 0; i < order::tile_vectors; ++i)
            here += nonzeros<T>(current.v[i]);
        mine += here;
    }
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < tiles.odd; i += threads)
        mine += fp::magnitude_bits(load_number(tiles.x + tiles.odd_index(i))) != 0;
    add_up(mine, total);
}

} // namespace count

template <class T>
Status launch_count_nonzero(const Plan& plan, const void* x, void* out, Stream stream, const DeviceTraits& device) {
    auto* const total = static_cast<count::Count*>(out);
    const order::Tiles<T> tiles(static_cast<const T*>(x), plan.request().n);
    std::uint32_t blocks = 0;
    const Status chosen =
        choose_blocks(plan, device, count::nonzero_kernel<T>, order_blocks(plan.request(), plan.launch()), blocks);
    if (!chosen.ok()) return chosen;
    if (const Status bad = count::start_from_zero(total, blocks, stream); !bad.ok()) return bad;
    return launch_kernel(LaunchKind::plain, count::nonzero_kernel<T>, blocks, plan.launch().block, 0, stream, tiles,
                         total);
}

template Status launch_count_nonzero<float16>(const Plan&, const void*, void*, Stream, const DeviceTraits&);
template Status launch_count_nonzero<bfloat16>(const Plan&, const void*, void*, Stream, const DeviceTraits&);
template Status launch_count_nonzero<float>(const Plan&, const void*, void*, Stream, const DeviceTraits&);
template Status launch_count_nonzero<double>(const Plan&, const void*, void*, Stream, const DeviceTraits&);

} // namespace detreduce::cuda
