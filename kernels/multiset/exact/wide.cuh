// Tiles whose elements lie too far apart for a window. They are read again, so that the fast way
// need not keep room for this.
#pragma once

#include "multiset/exact/window.cuh"

namespace detreduce::cuda::exact {

/// A number into the limbs that it touches: right for whatever there is, and slow where many
/// threads want the same limbs.
template <class F>
__device__ __forceinline__ void scatter_number(F x, Word* words) {
    if (!fp::is_finite(x)) {
        atomic_add(words + (fp::is_nan(x)        ? acc::exact::nan_count
                            : fp::is_negative(x) ? acc::exact::negative_infinities
                                                 : acc::exact::positive_infinities),
                   1);
        return;
    }
    if (fp::to_bits(x) == fp::sign_mask<F>) atomic_add(words + acc::exact::negative_zeros, 1);
    if (x == 0) return;
    const acc::exact::Parts p = acc::exact::parts(x);
    const acc::exact::Deposit d = acc::exact::split(p.significand, p.exponent);
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        if (d.digit[k] != 0) atomic_add(words + d.first + k, d.digit[k]);
    }
}
static __device__ __noinline__ void scatter(double x, Word* words) {
    scatter_number(x, words);
}
/// The elements of one load.
template <class T>
__device__ void scatter_elements(const uint4& v, Word* words) {
    Element<T>::each(v, [&](auto x) { scatter_number(x, words); });
}

/// 16 bytes of elements, or of their magnitudes.
template <class T, bool Magnitude>
__device__ __forceinline__ uint4 seen(uint4 v) {
    if constexpr (Magnitude) {
        constexpr std::uint32_t high = fp::has_16_bits<T> ? 0x7fff7fffu : 0x7fffffffu, low = fp::is_f64<T> ? ~0u : high;
        v = {v.x & low, v.y & high, v.z & low, v.w & high};
    }
    return v;
}

/// A tile at `tile` of V loads a thread, by one warp, into its words: through bins what lies in a
/// window around the typical element, the rest (an outlier, infinities, NaN) element by element.
/// Typical is the smallest of what the threads have as their largest.
template <class T, int V, bool Magnitude = false>
__device__ __noinline__ void add_wide_tile(const uint4* tile, Word* words) {
    using W = spec::ExactWindow<double, 4, 6>;
    using LimitsOf = Limits<T, W>;
    static_assert(V * Element<T>::per_vector <= W::adds);
    const int lane = threadIdx.x % warp_size;
    Range own;
    for (int i = 0; i < V; ++i)
        Element<T>::look(own, seen<T, Magnitude>(tile[i * warp_size + lane]));
    Element<T>::settle(own);
    const int typical = LimitsOf::exponent_of(warp_min(own.largest));
    const int room_above = (W::span - fp::Format<T>::precision) / 2;
    const LimitsOf limits =
        LimitsOf::at(min(max(typical + room_above, W::lowest_top + LimitsOf::shift), W::highest_top + LimitsOf::shift));
    Bins<T, W> bins;
    bins.reset(limits.top);
    int minus_zeros = 0;
    for (int i = 0; i < V; ++i) {
        const uint4 v = seen<T, Magnitude>(tile[i * warp_size + lane]);
        Range range;
        Element<T>::look(range, v);
        Element<T>::settle(range);
        if (limits.hold(range)) {
            bins.add(v);
            Element<T>::each(v, [&](auto x) { minus_zeros += fp::to_bits(x) == fp::sign_mask<decltype(x)>; });
        } else {
            scatter_elements<T>(v, words);
        }
    }
    sync_warp();
#pragma unroll
    for (int k = 0; k < W::bins; ++k)
        warp_deposit_sum(words, bins.read(limits.top, k), Bins<T, W>::unit(limits.top, k));
    minus_zeros = warp_add(minus_zeros);
    if (lane == 0) words[acc::exact::negative_zeros] += minus_zeros;
    sync_warp();
}

/// Every element on its own, tile after tile: what remains for numbers all over the range of f64.
/// 32-bit atomics to shared memory are one instruction, 64-bit ones a loop, so there are limbs
/// of 20 bits in 32-bit words, in four copies so that fewer threads want the same word, and they
/// are emptied before they can overflow.
struct Limbs {
    static constexpr int bits = 20, count = 2098 / bits + 4, copies = 4, stride = 113;
    static constexpr int tiles_between_drains = 16;
    /// What one copy of a limb takes between drains: its threads' elements.
    static constexpr std::int64_t adds = tiles_between_drains * (warp_size / copies) * tile_vectors * 2;
    static_assert(adds * ((std::int64_t{1} << bits) - 1) <= INT32_MAX);
    static_assert(count <= stride && stride % 4 == 1); // copies of a limb lie in different banks
    std::int32_t limb[copies][stride];
    Word held[stride];

    __device__ void clear() {
        for (int k = threadIdx.x % warp_size; k < stride; k += warp_size) {
            held[k] = 0;
            for (int c = 0; c < copies; ++c)
                limb[c][k] = 0;
        }
        sync_warp();
    }
    /// A finite number.
    __device__ __forceinline__ void add(double x) {
        const auto high = static_cast<std::uint32_t>(__double2hiint(x));
        const std::uint32_t field = high >> 20 & 0x7ffu, position = field == 0 ? 0 : field - 1;
        const std::uint64_t m = (std::uint64_t{(high & 0xfffffu) | (field == 0 ? 0u : 0x100000u)} << 32) |
                                static_cast<std::uint32_t>(__double2loint(x));
        const std::uint32_t first = position / bits, shift = position % bits;
        const std::uint64_t low = m << shift;
        const auto top = static_cast<std::uint32_t>(m >> 44 >> (bits - shift)); // bits 64 … of m << shift
        const auto sign = static_cast<std::int32_t>(high) >> 31;
        constexpr std::uint32_t mask = (1u << bits) - 1;
        const std::uint32_t piece[4] = {static_cast<std::uint32_t>(low) & mask,
                                        static_cast<std::uint32_t>(low >> bits) & mask,
                                        static_cast<std::uint32_t>(low >> 2 * bits) & mask,
                                        static_cast<std::uint32_t>(low >> 3 * bits) | top << (64 - 3 * bits)};
        std::int32_t* const to = limb[threadIdx.x % copies] + first;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            atomicAdd(to + i, (static_cast<std::int32_t>(piece[i]) ^ sign) - sign);
    }
    __device__ void drain() {
        sync_warp();
        for (int k = threadIdx.x % warp_size; k < stride; k += warp_size) {
            for (int c = 0; c < copies; ++c) {
                held[k] += limb[c][k];
                limb[c][k] = 0;
            }
        }
        sync_warp();
    }
    __device__ void flush(Word* words) {
        drain();
        for (int k = 0; k < count; ++k)
            warp_deposit(words, held[k], fp::Format<double>::min_exponent + bits * k);
    }
};

} // namespace detreduce::cuda::exact
