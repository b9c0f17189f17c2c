// Loads of the lanes that a thread holds: K neighbouring items, 16 bytes at a time where the pointer allows it.
#pragma once

#include <cstdint>

#include <detreduce/fp/half.hpp>

namespace detreduce::cuda {

template <class Item, int K>
struct alignas(K * sizeof(Item) % 16 == 0  ? 16
               : K * sizeof(Item) % 8 == 0 ? 8
                                           : 4) Pack {
    static_assert(K * sizeof(Item) % 4 == 0);
    Item v[K];
};

/// How a level is read. The input is read once, past L1; partial results were written by other blocks of this very launch, so
/// they must come from L2.
enum class Source { aligned_input, any_input, partials };

template <Source S>
__device__ __forceinline__ uint4 load16(const void* p) {
    uint4 v;
    if constexpr (S == Source::partials) {
        v = __ldcg(static_cast<const uint4*>(p));
    } else {
        asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(p));
    }
    return v;
}

/// One number of the input.
template <class T>
__device__ __forceinline__ T load_number(const T* p) {
    return __ldg(p);
}
__device__ __forceinline__ float16 load_number(const float16* p) {
    return {__ldg(reinterpret_cast<const unsigned short*>(p))};
}
__device__ __forceinline__ bfloat16 load_number(const bfloat16* p) {
    return {__ldg(reinterpret_cast<const unsigned short*>(p))};
}

/// The K items at p, all of which exist.
template <Source S, class Item, int K>
__device__ __forceinline__ Pack<Item, K> load_pack(const Item* p) {
    Pack<Item, K> pack;
    if constexpr (S == Source::any_input) { // neighbouring threads share the sectors, so most of these hit L1
#pragma unroll
        for (int k = 0; k < K; ++k)
            pack.v[k] = load_number(p + k);
    } else {
        constexpr int pieces = sizeof(pack) / 16;
        uint4 raw[pieces];
#pragma unroll
        for (int i = 0; i < pieces; ++i)
            raw[i] = load16<S>(reinterpret_cast<const char*>(p) + 16 * i);
        __builtin_memcpy(&pack, raw, sizeof pack);
    }
    return pack;
}

/// One item.
template <Source S, class Item>
__device__ __forceinline__ Item load_item(const Item* p) {
    if constexpr (S != Source::partials) {
        return load_number(p);
    } else {
        static_assert(sizeof(Item) % 4 == 0);
        Item item;
        std::uint32_t raw[sizeof(Item) / 4];
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(Item) / 4); ++i) {
            raw[i] = __ldcg(reinterpret_cast<const std::uint32_t*>(p) + i);
        }
        __builtin_memcpy(&item, raw, sizeof item);
        return item;
    }
}

/// Where the elements of an op are: one array or two, which may all be loaded 16 bytes at a time, or not. `Aligned`: they may, which was found out
/// before the kernel: for 16-bit types, which have no registers to spare for the other way.
template <class T, bool Aligned = false>
struct OneInput {
    const T* x;
    bool aligned;
    __device__ __forceinline__ OneInput operator+(std::int64_t i) const { return {x + i, aligned}; }
};
template <class T>
struct OneInput<T, true> {
    static constexpr bool aligned = true;
    const T* x;
    __device__ __forceinline__ OneInput operator+(std::int64_t i) const { return {x + i}; }
};
template <class T, bool Aligned = false>
struct TwoInputs {
    const T* x;
    const T* y;
    bool aligned;
    __device__ __forceinline__ TwoInputs operator+(std::int64_t i) const { return {x + i, y + i, aligned}; }
};
template <class T>
struct TwoInputs<T, true> {
    static constexpr bool aligned = true;
    const T* x;
    const T* y;
    __device__ __forceinline__ TwoInputs operator+(std::int64_t i) const { return {x + i, y + i}; }
};

template <class T>
struct Both {
    T x, y;
};

template <class T, int Inputs, bool Aligned = false>
struct ItemOf {
    using type = T;
    using Pointer = OneInput<T, Aligned>;
    [[nodiscard]] static __host__ __device__ Pointer pointer(const T* x, const T*, bool aligned) {
        if constexpr (Aligned) {
            return {x};
        } else {
            return {x, aligned};
        }
    }
};
template <class T, bool Aligned>
struct ItemOf<T, 2, Aligned> {
    using type = Both<T>;
    using Pointer = TwoInputs<T, Aligned>;
    [[nodiscard]] static __host__ __device__ Pointer pointer(const T* x, const T* y, bool aligned) {
        if constexpr (Aligned) {
            return {x, y};
        } else {
            return {x, y, aligned};
        }
    }
};

/// Both ways give whole words, so that elements of 16 bits stay two in a register where the ways meet.
template <Source, class Item, int K, bool Aligned>
__device__ __forceinline__ Pack<Item, K> load_pack(const OneInput<Item, Aligned>& p) {
    constexpr int pieces = K * sizeof(Item) / 16;
    Pack<Item, K> pack;
    uint4 raw[pieces];
    if (p.aligned) {
#pragma unroll
        for (int i = 0; i < pieces; ++i)
            raw[i] = load16<Source::aligned_input>(reinterpret_cast<const char*>(p.x) + 16 * i);
    } else {
        std::uint32_t words[4 * pieces];
        if constexpr (sizeof(Item) == 2) {
#pragma unroll
            for (int w = 0; w < 4 * pieces; ++w) // by words and what is left of them it took a third longer
                words[w] = load_number(p.x + 2 * w).bits | std::uint32_t{load_number(p.x + 2 * w + 1).bits} << 16;
        } else {
#pragma unroll
            for (int k = 0; k < K; ++k) {
                const Item item = load_number(p.x + k);
                __builtin_memcpy(words + k * sizeof(Item) / 4, &item, sizeof item);
            }
        }
        __builtin_memcpy(raw, words, sizeof raw);
    }
    __builtin_memcpy(&pack, raw, sizeof pack);
    return pack;
}
template <Source S, class Item, int K, class T, bool Aligned>
__device__ __forceinline__ Pack<Item, K> load_pack(const TwoInputs<T, Aligned>& p) {
    using One = ItemOf<T, 1, Aligned>;
    const Pack<T, K> x = load_pack<S, T, K>(One::pointer(p.x, nullptr, p.aligned)),
                     y = load_pack<S, T, K>(One::pointer(p.y, nullptr, p.aligned));
    Pack<Item, K> both;
#pragma unroll
    for (int k = 0; k < K; ++k)
        both.v[k] = {x.v[k], y.v[k]};
    return both;
}
template <Source S, class T, bool Aligned>
__device__ __forceinline__ T load_item(const OneInput<T, Aligned>& p) {
    return load_number(p.x);
}
template <Source S, class T, bool Aligned>
__device__ __forceinline__ Both<T> load_item(const TwoInputs<T, Aligned>& p) {
    return {load_number(p.x), load_number(p.y)};
}

} // namespace detreduce::cuda
