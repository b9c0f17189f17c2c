// Loads of the lanes that a thread holds: K neighbouring items, 16 bytes at a time where the pointer allows it.
#pragma once

#include <cstdint>

#include <detreduce/fp/half.hpp>

namespace detreduce::cuda {

template <class Item, int K>
struct alignas(16) Pack {
    static_assert(K * sizeof(Item) % 16 == 0);
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

} // namespace detreduce::cuda
