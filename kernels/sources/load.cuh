// Loads of the lanes that a thread holds: K neighbouring items, 16 bytes at a time where the
// pointer allows it.
#pragma once

#include <cstdint>

#include <detreduce/fp/bits.hpp>
#include <detreduce/fp/half.hpp>

#include "platform/memory.cuh"

namespace detreduce::cuda {

template <class Item, int K>
struct alignas(K * sizeof(Item) % 16 == 0  ? 16
               : K * sizeof(Item) % 8 == 0 ? 8
                                           : 4) Pack {
    static_assert(K * sizeof(Item) % 4 == 0);
    Item v[K];
};

/// f(0), f(1), …
template <class Item, int K, class F>
__device__ __forceinline__ Pack<Item, K> pack_of(const F& f) {
    Pack<Item, K> pack;
#pragma unroll
    for (int k = 0; k < K; ++k)
        pack.v[k] = f(k);
    return pack;
}

/// How a level is read. The input is read once, past L1; partial results were written by other
/// blocks of this very launch, so they must come from L2.
enum class Source { aligned_input, any_input, partials };

template <Source S>
__device__ __forceinline__ uint4 load16(const void* p) {
    if constexpr (S == Source::partials) return load_from_l2(static_cast<const uint4*>(p));
    return load16_once(p);
}

/// One number of the input.
template <class T>
__device__ __forceinline__ T load_number(const T* p) {
    return load_read_only(p);
}
__device__ __forceinline__ float16 load_number(const float16* p) {
    return float16::from_bits(load_read_only(reinterpret_cast<const unsigned short*>(p)));
}
__device__ __forceinline__ bfloat16 load_number(const bfloat16* p) {
    return bfloat16::from_bits(load_read_only(reinterpret_cast<const unsigned short*>(p)));
}

/// The words that hold 8 elements of 16 bits, wherever these begin.
struct RawHalves {
    std::uint32_t word[5];
};

/// The 8 elements of 16 bits at p, if they are there, and else 0. No branch: what has to be put
/// together waits where ways meet, and so do the loads behind it.
template <class T>
__device__ __forceinline__ RawHalves load_raw_halves_if(bool there, const T* p, bool odd) {
    static_assert(fp::has_16_bits<T>);
    RawHalves raw;
    load16_of_halves_if(there, reinterpret_cast<const std::uint16_t*>(p), odd, raw.word);
    return raw;
}
/// Is p the upper half of a word?
template <class T>
__device__ __forceinline__ bool is_upper_half(const T* p) {
    return reinterpret_cast<std::uintptr_t>(p) % 4 != 0;
}
template <class T>
__device__ __forceinline__ Pack<T, 8> put_together(const RawHalves& raw, bool odd) {
    const std::uint32_t first = odd ? 0x5410 : 0x7654, others = odd ? 0x5432 : 0x7654;
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        words[i] = __byte_perm(raw.word[i], raw.word[i + 1], i == 0 ? first : others);
    Pack<T, 8> pack;
    __builtin_memcpy(&pack, words, sizeof pack);
    return pack;
}
template <class T>
__device__ __forceinline__ Pack<T, 8> load_halves_if(bool there, const T* p) {
    const bool odd = is_upper_half(p);
    return put_together<T>(load_raw_halves_if(there, p, odd), odd);
}

/// The K items at p, all of which exist.
template <Source S, class Item, int K>
__device__ __forceinline__ Pack<Item, K> load_pack(const Item* p) {
    if constexpr (S == Source::any_input && fp::has_16_bits<Item>) return load_halves_if<Item>(true, p);
    if constexpr (S == Source::any_input) { // neighbouring threads share the sectors, so most of these hit L1
        return pack_of<Item, K>([&](int k) { return load_number(p + k); });
    } else {
        Pack<Item, K> pack;
        constexpr int pieces = sizeof(pack) / 16;
        uint4 raw[pieces];
#pragma unroll
        for (int i = 0; i < pieces; ++i)
            raw[i] = load16<S>(reinterpret_cast<const char*>(p) + 16 * i);
        __builtin_memcpy(&pack, raw, sizeof pack);
        return pack;
    }
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
            raw[i] = load_from_l2(reinterpret_cast<const std::uint32_t*>(p) + i);
        }
        __builtin_memcpy(&item, raw, sizeof item);
        return item;
    }
}

/// Whether all of an input may be loaded 16 bytes at a time: to be seen when the kernel runs, or
/// known when it is compiled. 16-bit types have no registers to spare for two ways, and where the
/// ways meet again each load would wait for its own: theirs are known to be aligned, or loaded as
/// if they never were.
enum class Alignment { seen, known, never };

/// Where the elements of an op are: one array or two; or three, of a loss.
template <class T, Alignment A = Alignment::seen>
struct OneInput {
    static constexpr bool aligned = A == Alignment::known;
    const T* x;
    __device__ __forceinline__ OneInput operator+(std::int64_t i) const { return {x + i}; }
};
template <class T>
struct OneInput<T, Alignment::seen> {
    const T* x;
    bool aligned;
    __device__ __forceinline__ OneInput operator+(std::int64_t i) const { return {x + i, aligned}; }
};
template <class T, Alignment A = Alignment::seen>
struct TwoInputs {
    static constexpr bool aligned = A == Alignment::known;
    const T* x;
    const T* y;
    __device__ __forceinline__ TwoInputs operator+(std::int64_t i) const { return {x + i, y + i}; }
};
template <class T>
struct TwoInputs<T, Alignment::seen> {
    const T* x;
    const T* y;
    bool aligned;
    __device__ __forceinline__ TwoInputs operator+(std::int64_t i) const { return {x + i, y + i, aligned}; }
};

/// z may be null: then it is all ones.
template <class T>
struct ThreeInputs {
    const T* x;
    const T* y;
    const T* z;
    bool aligned;
    __device__ __forceinline__ ThreeInputs operator+(std::int64_t i) const {
        return {x + i, y + i, z == nullptr ? z : z + i, aligned};
    }
};

template <class T>
struct Both {
    T x, y;
};
template <class T, int K>
__device__ __forceinline__ Pack<Both<T>, K> both_of(const Pack<T, K>& x, const Pack<T, K>& y) {
    return pack_of<Both<T>, K>([&](int k) { return Both<T>{x.v[k], y.v[k]}; });
}
template <class T>
struct Three {
    T x, y, z;
};

template <class T, int Inputs, Alignment A = Alignment::seen>
struct ItemOf {
    using type = T;
    using Pointer = OneInput<T, A>;
    [[nodiscard]] static __host__ __device__ Pointer pointer(const T* x, const T*, bool aligned) {
        if constexpr (A == Alignment::seen) {
            return {x, aligned};
        } else {
            return {x};
        }
    }
};
template <class T, Alignment A>
struct ItemOf<T, 2, A> {
    using type = Both<T>;
    using Pointer = TwoInputs<T, A>;
    [[nodiscard]] static __host__ __device__ Pointer pointer(const T* x, const T* y, bool aligned) {
        if constexpr (A == Alignment::seen) {
            return {x, y, aligned};
        } else {
            return {x, y};
        }
    }
};

template <class T>
struct ItemOf<T, 3, Alignment::seen> {
    using type = Three<T>;
    using Pointer = ThreeInputs<T>;
};

/// Both ways give whole words, so that elements of 16 bits stay two in a register where the ways
/// meet.
template <Source, class Item, int K, Alignment A>
__device__ __forceinline__ Pack<Item, K> load_pack(const OneInput<Item, A>& p) {
    if constexpr (A == Alignment::never && fp::has_16_bits<Item>) return load_halves_if<Item>(true, p.x);
    constexpr int pieces = K * sizeof(Item) / 16;
    Pack<Item, K> pack;
    uint4 raw[pieces];
    if (p.aligned) {
#pragma unroll
        for (int i = 0; i < pieces; ++i)
            raw[i] = load16<Source::aligned_input>(reinterpret_cast<const char*>(p.x) + 16 * i);
    } else {
        std::uint32_t words[4 * pieces];
        if constexpr (fp::has_16_bits<Item>) {
#pragma unroll
            for (int w = 0; w < 4 * pieces; ++w)
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
template <Source S, class Item, int K, class T, Alignment A>
__device__ __forceinline__ Pack<Item, K> load_pack(const TwoInputs<T, A>& p) {
    using One = ItemOf<T, 1, A>;
    const Pack<T, K> x = load_pack<S, T, K>(One::pointer(p.x, nullptr, p.aligned)),
                     y = load_pack<S, T, K>(One::pointer(p.y, nullptr, p.aligned));
    return both_of(x, y);
}
template <class T>
inline constexpr T one = fp::from_bits<T>(fp::one_bits<T>);
template <Source S, class Item, int K, class T>
__device__ __forceinline__ Pack<Item, K> load_pack(const ThreeInputs<T>& p) {
    const Pack<T, K> x = load_pack<S, T, K>(OneInput<T>{p.x, p.aligned}),
                     y = load_pack<S, T, K>(OneInput<T>{p.y, p.aligned});
    Pack<T, K> z = pack_of<T, K>([](int) { return one<T>; });
    if (p.z != nullptr) z = load_pack<S, T, K>(OneInput<T>{p.z, p.aligned});
    Pack<Item, K> three;
#pragma unroll
    for (int k = 0; k < K; ++k)
        three.v[k] = {x.v[k], y.v[k], z.v[k]};
    return three;
}
template <Source S, class T>
__device__ __forceinline__ Three<T> load_item(const ThreeInputs<T>& p) {
    return {load_number(p.x), load_number(p.y), p.z == nullptr ? one<T> : load_number(p.z)};
}
template <Source S, class T, Alignment A>
__device__ __forceinline__ T load_item(const OneInput<T, A>& p) {
    return load_number(p.x);
}
template <Source S, class T, Alignment A>
__device__ __forceinline__ Both<T> load_item(const TwoInputs<T, A>& p) {
    return {load_number(p.x), load_number(p.y)};
}

/// Whether load_pack_if() is for Pointer.
template <class Pointer>
inline constexpr bool loads_without_branch = false;
template <class T>
inline constexpr bool loads_without_branch<OneInput<T, Alignment::never>> = fp::has_16_bits<T>;
template <class T>
inline constexpr bool loads_without_branch<TwoInputs<T, Alignment::never>> = fp::has_16_bits<T>;

/// The K items at p, if they are there.
template <class Item, int K>
__device__ __forceinline__ Pack<Item, K> load_pack_if(bool there, const OneInput<Item, Alignment::never>& p) {
    return load_halves_if<Item>(there, p.x);
}
template <class Item, int K, class T>
__device__ __forceinline__ Pack<Item, K> load_pack_if(bool there, const TwoInputs<T, Alignment::never>& p) {
    const Pack<T, K> x = load_pack_if<T, K>(there, OneInput<T, Alignment::never>{p.x}),
                     y = load_pack_if<T, K>(there, OneInput<T, Alignment::never>{p.y});
    return both_of(x, y);
}

} // namespace detreduce::cuda
