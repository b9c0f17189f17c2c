// Sums of the exponentials of rows of 16-bit elements, a warp a tile: so much is to be done for each element that a warp's next loads must be in flight
// meanwhile, and there are no registers for two chunks. So a chunk is added row by row, and each row's place is taken by that of the next chunk, of this tile
// or of the warp's next one.
#pragma once

#include "groups/sums.cuh"
#include "row_ops/chunk.cuh"

namespace detreduce::cuda::row_kernels {

/// Eight elements as they are loaded, and put together when they are used.
template <class T, bool Aligned>
struct Eight {
    RawHalves raw;
    __device__ __forceinline__ void load_if(bool there, const T* p, bool odd) {
        raw = load_raw_halves_if(there, p, odd);
    }
    [[nodiscard]] __device__ __forceinline__ Pack<T, 8> pack(bool odd) const { return put_together<T>(raw, odd); }
};
template <class T>
struct Eight<T, true> {
    uint4 raw;
    __device__ __forceinline__ void load_if(bool there, const T* p, bool) {
        asm volatile("{.reg .pred there; setp.ne.s32 there, %5, 0;\n"
                     "@there ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];}"
                     : "+r"(raw.x), "+r"(raw.y), "+r"(raw.z), "+r"(raw.w)
                     : "l"(p), "r"(static_cast<int>(there)));
    }
    [[nodiscard]] __device__ __forceinline__ Pack<T, 8> pack(bool) const {
        Pack<T, 8> pack;
        __builtin_memcpy(&pack, &raw, sizeof pack);
        return pack;
    }
};

/// Tiles of rows, the first of all rows, then the second …, so that all warps have some of the last ones, which are short; and where their sums go.
template <class T>
struct ExpTiles {
    const T* x;
    std::uint64_t rows, n, stride, tiles;
    float* sums;
    std::uint64_t pitch; ///< from the first sum of a row to that of the next
};

template <class T, bool Aligned>
struct ExpWarp {
    using Order = spec::TreeOrder<2>;
    using LanesOf = Lanes<acc::Rounded<float>, 8>;
    static constexpr int rows = spec::rows_per_chunk, lanes = Order::lanes, chunk = Order::chunk;

    /// A chunk: this thread's first element in it, and how many there are from there to the end of the tile.
    struct Place {
        const T* p;
        int left;
    };
    const ExpTiles<T>& in;
    Eight<T, Aligned> next[rows];

    [[nodiscard]] __device__ __forceinline__ Place place_of(std::uint64_t unit) const {
        if (unit >= in.rows * in.tiles) return {in.x, 0};
        const std::uint64_t tile = in.tiles == 1 ? 0 : unit / in.rows, row = unit - tile * in.rows;
        const int first = threadIdx.x % warp_size * 8,
                  m = static_cast<int>(items_in_tile(tile * Order::tile, in.n, Order::tile));
        return {in.x + static_cast<std::int64_t>(row * in.stride + tile * Order::tile) + first, m - first};
    }
    [[nodiscard]] static __device__ __forceinline__ bool odd(const T* p) { return !Aligned && is_upper_half(p); }
    __device__ __forceinline__ void load(int r, const Place& at, bool is_odd) {
        next[r].load_if(at.left - r * lanes >= 8, at.p + r * lanes, is_odd);
    }

    /// Adds the chunk at `at`, whose loads are under way, and begins those of the one at `then`.
    template <bool Full>
    [[nodiscard]] __device__ __forceinline__ LanesOf add(const Place& at, const Place& then) {
        const bool is_odd = odd(at.p), then_odd = odd(then.p);
        [[maybe_unused]] const int in_warp = at.left + threadIdx.x % warp_size * 8;
        LanesOf sum;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            Pack<T, 8> pack = next[r].pack(is_odd);
            if constexpr (!Full) {
                const int there = at.left - r * lanes;
                if (r > 0 && in_warp <= r * lanes) { // the same for all
                    load(r, then, then_odd);
                    continue;
                }
                if (there < 8) {
#pragma unroll
                    for (int k = 0; k < 8; ++k)
                        pack.v[k] = k < there ? load_number(at.p + r * lanes + k) : lowest();
                }
            }
            load(r, then, then_odd);
            clamp(pack);
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                float z = item_at(pack, k);
                if constexpr (!clamps_pairs) z = spec::within_exp_terms(z);
                const auto t = spec::exp_term_within<T>(z);
                sum.a[k].sum = r == 0 ? t.value() : t.added_to(sum.a[k].sum);
            }
        }
        return sum;
    }
    [[nodiscard]] static __device__ __forceinline__ T lowest() {
        return fp::from_bits<T>(static_cast<std::uint16_t>(fp::infinity_bits<T> | fp::sign_mask<T>));
    }

    __device__ __forceinline__ void run(std::uint64_t unit, std::uint64_t warps) {
        Place at = place_of(unit);
        const bool is_odd = odd(at.p);
#pragma unroll
        for (int r = 0; r < rows; ++r)
            load(r, at, is_odd);
        const int thread = threadIdx.x % warp_size;
        for (; unit < in.rows * in.tiles; unit += warps) {
            constexpr int depth = 3; // as fold_chunks() has it
            LanesOf pending[depth], sum;
            const int m = at.left + thread * 8;
#pragma unroll 1
            for (int c = 0; c * chunk < m; ++c) {
                const bool last = m - c * chunk <= chunk;
                Place then{at.p + chunk, at.left - chunk};
                if (last) then = place_of(unit + warps);
                sum = m - c * chunk >= chunk ? add<true>(at, then) : add<false>(at, then);
                at = then;
                bool waits = false;
#pragma unroll
                for (int d = 0; d < depth; ++d) {
                    if (c >> d & 1) {
                        if (waits) continue;
                        pending[d].merge(sum);
                        sum = pending[d];
                    } else if (!last && !waits) {
                        pending[d] = sum;
                        waits = true;
                    }
                }
            }
            const auto total = combine_lanes_of_warp(sum);
            const std::uint64_t tile = in.tiles == 1 ? 0 : unit / in.rows;
            if (thread == 0) in.sums[(unit - tile * in.rows) * in.pitch + tile] = total.sum;
        }
    }
};

template <class T, bool Aligned>
__global__ void __launch_bounds__(max_block, 2) exp_sums_kernel(const __grid_constant__ ExpTiles<T> in) {
    ExpWarp<T, Aligned> warp{in, {}};
    warp.run(std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size,
             std::uint64_t{gridDim.x} * (blockDim.x / warp_size));
}

} // namespace detreduce::cuda::row_kernels
