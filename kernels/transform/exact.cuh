// Terms of a caller's function for `exact`: tiles of terms, computed in registers from tiles of
// elements, go through the bins as tiles of elements do. Their exponents say whether they fit;
// those of the elements would say nothing of them.
#pragma once

#include "multiset/exact/kernels.cuh"
#include "transform/mapped.cuh"

namespace detreduce::cuda::exact {

/// Bins of the fast way: a window of more than a hundred binades. What lies farther apart goes
/// through add_wide_tile().
template <class V>
using MappedWindow =
    std::conditional_t<fp::is_f64<V>, spec::ExactWindow<double, 4, 6>, spec::ExactWindow<double, 3, 6>>;

/// The input as tiles of warps.
template <class T, class F, int Inputs, Alignment A = Alignment::seen>
struct MappedTiles {
    using Source = Mapped<T, F, Inputs, A>;
    using V = typename Source::V;
    using Element = typename Source::Element;
    static constexpr int states = 1;
    /// Four loads ahead of each of three inputs leave no registers for the function: its terms were
    /// in local memory (huber f32 .43, now .77).
    static constexpr int per_load = 16 / static_cast<int>(sizeof(T)),
                         loads = fp::is_narrow<T> || Inputs == 3 ? 2 : 4;  ///< of each input
    static constexpr int each = loads * per_load;                          ///< terms a thread
    static constexpr int pieces = each * static_cast<int>(sizeof(V)) / 16; ///< of 16 bytes, that they fill
    static constexpr std::uint64_t tile = std::uint64_t{each} * warp_size;
    using Terms = Vectors<pieces>;
    struct Raw {
        Pack<Element, per_load> pack[loads];
    };

    Source source;
    std::uint64_t n;

    [[nodiscard]] __host__ __device__ std::uint64_t full() const { return n / tile; }
    [[nodiscard]] std::uint64_t tasks() const { return full(); }

    /// The elements of a full tile.
    __device__ __forceinline__ Raw load(std::uint64_t at) const {
        const auto p = source.elements + static_cast<std::int64_t>(at * tile + threadIdx.x % warp_size * per_load);
        Raw raw;
#pragma unroll
        for (int i = 0; i < loads; ++i)
            raw.pack[i] = load_pack<cuda::Source::any_input, Element, per_load>(p + i * (warp_size * per_load));
        return raw;
    }
    __device__ __forceinline__ Terms terms(const Raw& raw) const {
        Pack<V, per_load> term[loads];
#pragma unroll
        for (int i = 0; i < loads; ++i)
            term[i] = source.terms(raw.pack[i]);
        Terms all;
        __builtin_memcpy(&all, term, sizeof all);
        return all;
    }
    /// The terms behind the full tiles. Zeros, which change no sum and are not counted, take the
    /// places of what is not there.
    __device__ __forceinline__ Terms rest() const {
        const std::uint64_t first = full() * tile + threadIdx.x % warp_size;
        V term[each];
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const std::uint64_t at = first + i * warp_size;
            term[i] = V(0);
            if (at < n)
                term[i] =
                    source.term(load_item<cuda::Source::any_input>(source.elements + static_cast<std::int64_t>(at)));
        }
        Terms all;
        __builtin_memcpy(&all, term, sizeof all);
        return all;
    }
};

template <class T, class F, int Inputs, Alignment A>
struct WarpMemory<MappedTiles<T, F, Inputs, A>> {
    Word words[acc::exact::words];
    uint4 copy[MappedTiles<T, F, Inputs, A>::pieces * warp_size];
};

/// A tile that the window does not hold.
template <class Input>
__device__ __forceinline__ void add_mapped_slowly(const typename Input::Terms& terms, WarpMemory<Input>& own,
                                                  std::uint32_t& slow_tiles) {
    sync_warp();
#pragma unroll
    for (int i = 0; i < Input::pieces; ++i)
        own.copy[i * warp_size + threadIdx.x % warp_size] = terms.v[i];
    sync_warp();
    add_wide_tile<typename Input::V, Input::pieces>(own.copy, own.words);
    if (++slow_tiles % (1u << 16) == 0) warp_carry(own.words);
}

template <class T, class F, int Inputs, Alignment A>
__device__ __forceinline__ void add_share(const MappedTiles<T, F, Inputs, A>& input,
                                          WarpMemory<MappedTiles<T, F, Inputs, A>>& own, std::uint64_t first,
                                          std::uint64_t warps, const Between&) {
    using Input = MappedTiles<T, F, Inputs, A>;
    using V = typename Input::V;
    const std::uint64_t full = input.full();
    std::uint64_t at = first;
    std::uint32_t slow_tiles = 0;
    if (at < full) {
        // Of floats a glance takes registers that the function needs (huber .42 of the read-only
        // kernel with it, .51 without, when four loads were ahead; not tried since).
        WarpSum<V, MappedWindow<V>, false, Input::pieces, fp::is_f64<V>> sum(own.words);
        typename Input::Raw next = input.load(at);
        for (; at < full; at += warps) {
            const typename Input::Raw current = next;
            if (at + warps < full) next = input.load(at + warps); // in flight while these are added
            const auto terms = input.terms(current);
            if (!sum.take(terms)) add_mapped_slowly<Input>(terms, own, slow_tiles);
        }
        sum.flush_all();
    }
    if (at == full && input.n % Input::tile != 0) add_mapped_slowly<Input>(input.rest(), own, slow_tiles);
}

} // namespace detreduce::cuda::exact
