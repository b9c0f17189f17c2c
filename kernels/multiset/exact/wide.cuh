// Numbers that lie too far apart for a window, and those that are none: NaN and infinities. They
// are read again, so that the fast way need not keep room for this.
#pragma once

#include "multiset/exact/window.cuh"

namespace detreduce::cuda::exact {

/// 16 bytes of elements, or of their magnitudes.
template <class T, bool Magnitude>
__device__ __forceinline__ uint4 seen(uint4 v) {
    if constexpr (Magnitude) {
        constexpr std::uint32_t high = fp::has_16_bits<T> ? 0x7fff7fffu : 0x7fffffffu, low = fp::is_f64<T> ? ~0u : high;
        v = {v.x & low, v.y & high, v.z & low, v.w & high};
    }
    return v;
}

/// Magnitude of a double as a window compares it: its upper half, of which a lower half that is not
/// zero shows as the last bit.
__device__ __forceinline__ std::uint32_t magnitude_of(double x) {
    const auto low = static_cast<std::uint32_t>(__double2loint(x));
    return (static_cast<std::uint32_t>(__double2hiint(x)) & 0x7fffffffu) | min(low, 1u);
}
inline constexpr std::uint32_t infinity_of_f64 = 0x7ff00000u;

/// What a thread has met that no bin takes, and −0.
struct Counts {
    int nan = 0, positive_infinities = 0, negative_infinities = 0, minus_zeros = 0;

    /// Counts what has this magnitude, as `infinity` is that of an infinity; false for a number.
    __device__ __forceinline__ bool take_special(std::uint32_t m, std::uint32_t infinity, bool negative) {
        nan += m > infinity;
        positive_infinities += m == infinity && !negative;
        negative_infinities += m == infinity && negative;
        return m >= infinity;
    }
    /// Counts x if it is one of these. Else its magnitude, and 0.
    __device__ __forceinline__ std::uint32_t take(double x, std::uint32_t infinity) {
        const std::uint32_t m = magnitude_of(x);
        minus_zeros += m == 0 && __double2hiint(x) < 0;
        return take_special(m, infinity, __double2hiint(x) < 0) ? 0 : m;
    }
    /// Makes NaN and infinities of T zeros, and counts them.
    template <class T>
    __device__ __forceinline__ void take_specials(uint4& v) {
        // `high` is an element, or its upper half; `low` is the lower half.
        constexpr std::uint32_t infinity = fp::is_f64<T> ? infinity_of_f64
                                                         : static_cast<std::uint32_t>(fp::infinity_bits<T>)
                                                               << (32 - 8 * sizeof(T)) % 32;
        const auto is_special = [&](std::uint32_t high, std::uint32_t low) {
            return take_special((high & 0x7fffffffu) | min(low, 1u), infinity, static_cast<std::int32_t>(high) < 0);
        };
        std::uint32_t* const words[] = {&v.x, &v.y, &v.z, &v.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            std::uint32_t& w = *words[k];
            if constexpr (fp::is_f64<T>) {
                if (k % 2 == 0 && is_special(*words[k + 1], w)) w = *words[k + 1] = 0;
            } else if constexpr (fp::is_f32<T>) {
                if (is_special(w, 0)) w = 0;
            } else {
                if (is_special(w << 16, 0)) w &= 0xffff0000u;
                if (is_special(w & 0xffff0000u, 0)) w &= 0xffffu;
            }
        }
    }
    /// Are there NaN or infinities among those in these words?
    [[nodiscard]] static __device__ __forceinline__ bool any_special(const Word* words) {
        namespace at = acc::exact;
        return (words[at::nan_count] | words[at::positive_infinities] | words[at::negative_infinities]) != 0;
    }
    /// Of all threads, to the words of the warp.
    __device__ __forceinline__ void add_to(Word* words) const {
        using namespace acc::exact;
        const int nans = warp_add(nan), above = warp_add(positive_infinities), below = warp_add(negative_infinities),
                  zeros = warp_add(minus_zeros);
        if (threadIdx.x % warp_size == 0) {
            words[acc::exact::nan_count] += nans;
            words[acc::exact::positive_infinities] += above;
            words[acc::exact::negative_infinities] += below;
            words[acc::exact::negative_zeros] += zeros;
        }
        sync_warp();
    }
};

/// A tile of V loads a thread to `copy`, with zeros in the places of NaN and infinities, which are
/// counted in the warp's words unless those are null.
template <class T, int V, bool Magnitude>
__device__ __noinline__ void take_specials(const uint4* tile, uint4* copy, Word* words) {
    Counts counts;
    for (int i = 0; i < V; ++i) {
        const int mine = i * warp_size + threadIdx.x % warp_size;
        uint4 v = seen<T, Magnitude>(tile[mine]);
        counts.take_specials<T>(v);
        copy[mine] = v;
    }
    if (words != nullptr) counts.add_to(words);
}

/// Adds the doubles that `each` passes to a function, by one warp, to its words: those that a
/// window around the largest of them holds, then those below, and so on. Each has at most Bits
/// significant bits and stands for itself times 2^shift; a thread has at most W::adds of them.
/// `largest` is the largest magnitude of the warp, 0 where all are zeros; what is from `infinity`
/// on is not added.
template <int Bits, class Each>
__device__ __forceinline__ void add_by_windows(const Each& each, std::uint32_t largest, std::uint32_t infinity,
                                               int shift, Word* words) {
    using W = spec::ExactWindow<double, 4, 6>;
    using F = fp::Format<double>;
    constexpr int normal = 1 - F::max_exponent, fraction_bits = 20, room_above = 16;
    static_assert(W::highest_top + room_above > F::max_exponent);
    std::uint32_t above = infinity; // magnitudes from here on are no concern of this window
#pragma unroll 1
    while (largest != 0) {
        const int high = max(static_cast<int>(largest >> fraction_bits), 1) - F::max_exponent + 1,
                  down = high > W::highest_top ? room_above : 0; // bins take the largest doubles divided by 2^16
        const int top = max(high - down, W::lowest_top), lower = top + down - W::span + Bits - 1;
        // Below lie numbers whose last bit is below the last Q.
        const std::uint32_t from = lower > normal ? static_cast<std::uint32_t>(lower + F::max_exponent) << fraction_bits
                                   : top > W::lowest_top ? 1u << fraction_bits
                                                         : 0;
        const double scale = down != 0 ? 1.0 / (1 << room_above) : 1.0;
        Bins<double, W> bins;
        bins.reset(top);
        std::uint32_t remaining = 0;
        each([&](double x) {
            const std::uint32_t m = magnitude_of(x);
            bins.add(m >= from && m < above ? x * scale : 0.0);
            remaining = max(remaining, m < from ? m : 0);
        });
        sync_warp();
#pragma unroll 1
        for (int k = 0; k < W::bins; ++k) {
            warp_deposit_sum(words, fp::to_bits(bins.s[0]) - fp::to_bits(W::anchor(top, k)),
                             W::unit(top, k) + down + shift);
#pragma unroll
            for (int i = 0; i + 1 < W::bins; ++i)
                bins.s[i] = bins.s[i + 1];
        }
        above = from;
        largest = warp_max(remaining);
    }
}

/// A tile at `tile` of V loads a thread, by one warp, into its words.
template <class T, int V, bool Magnitude = false>
__device__ __noinline__ void add_wide_tile(const uint4* tile, Word* words) {
    static_assert(V * Element<T>::per_vector <= 64);
    constexpr std::uint32_t infinity =
        Element<T>::double_shift != 0 ? (2u * fp::Format<T>::max_exponent + 1) << 20 : infinity_of_f64;
    const auto each = [&](const auto& f) {
#pragma unroll 1
        for (int i = 0; i < V; ++i)
            Element<T>::each_double(seen<T, Magnitude>(tile[i * warp_size + threadIdx.x % warp_size]), f);
    };
    Counts counts;
    std::uint32_t largest = 0;
    each([&](double x) { largest = max(largest, counts.take(x, infinity)); });
    counts.add_to(words);
    add_by_windows<fp::Format<T>::precision>(each, warp_max(largest), infinity, Element<T>::double_shift, words);
}

/// Adds value · 2^exponent to the warp's words, as other threads do.
__device__ __forceinline__ void deposit_with_others(Word* words, Word value, int exponent) {
    const acc::exact::Deposit d = acc::exact::split(value, exponent);
    for (int i = 0; i < 3; ++i) {
        if (d.limb[i] != 0) atomic_add(words + d.first + i, d.limb[i]);
    }
}

/// Every number on its own: what remains for numbers all over the range of double. 32-bit atomics
/// to shared memory are one instruction, 64-bit ones a loop, so there are limbs of 20 bits in
/// 32-bit words, in copies so that fewer threads want the same word, and they are emptied before
/// they can overflow. A warp has them.
template <int Copies>
struct Limbs {
    static constexpr int bits = 20, count = 2098 / bits + 4, stride = 113, threads = (warp_size + Copies - 1) / Copies;
    static constexpr int most = INT32_MAX / ((1 << bits) - 1) / threads; ///< numbers that a thread adds between drains
    static_assert(count <= stride && stride % 16 == 1);                  // copies of a limb lie in different banks
    std::int32_t limb[Copies][stride];

    __device__ __forceinline__ void clear() {
        for (int k = threadIdx.x % warp_size; k < Copies * stride; k += warp_size)
            (&limb[0][0])[k] = 0;
        sync_warp();
    }
    /// The doubles of one load.
    __device__ __forceinline__ void add(const uint4& v) {
        Element<double>::each(v, [&](double x) { add(x); });
    }
    /// A finite number. If Short, it has few bits, and so none in most limbs.
    template <bool Short = false>
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
        std::int32_t* const to = limb[threadIdx.x % Copies] + first;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (!Short || piece[i] != 0) atomicAdd(to + i, (static_cast<std::int32_t>(piece[i]) ^ sign) - sign);
        }
    }
    __device__ __noinline__ void drain(Word* words) {
        sync_warp();
        for (int k = threadIdx.x % warp_size; k < count; k += warp_size) {
            Word sum = 0;
            for (int c = 0; c < Copies; ++c) {
                sum += limb[c][k];
                limb[c][k] = 0;
            }
            if (sum != 0) deposit_with_others(words, sum, fp::Format<double>::min_exponent + bits * k);
        }
        sync_warp();
    }
};

/// The same for numbers of bf16: each thread has words of its own, in a bank of its own, one for
/// eight exponents, so that an element is one addition and nobody waits for another.
struct Columns {
    static constexpr int count = 32, fraction_bits = 7, exponents = 8;
    static constexpr int most = INT32_MAX / (((2 << fraction_bits) - 1) << (exponents - 1));
    std::int32_t word[count][warp_size];

    __device__ __forceinline__ void clear() {
        for (int k = 0; k < count; ++k)
            word[k][threadIdx.x % warp_size] = 0;
        sync_warp();
    }
    __device__ __forceinline__ void add(const uint4& v) {
        for (const std::uint32_t two : {v.x, v.y, v.z, v.w})
            add(two << 16), add(two & 0xffff0000u);
    }
    /// A finite number in the upper half of `bits`.
    __device__ __forceinline__ void add(std::uint32_t bits) {
        const std::uint32_t field = bits >> 23 & 0xffu, exponent = max(field, 1u);
        const std::uint32_t m = (bits >> 16 & 0x7fu) | (field != 0 ? 0x80u : 0u);
        const auto value = static_cast<std::int32_t>(m << exponent % exponents),
                   sign = static_cast<std::int32_t>(bits) >> 31;
        atomicAdd(&word[exponent / exponents][threadIdx.x % warp_size], (value ^ sign) - sign);
    }
    __device__ __noinline__ void drain(Word* words) {
        const int k = threadIdx.x % warp_size;
        sync_warp();
        Word sum = 0;
        for (int i = 0; i < warp_size; ++i) { // each thread in another bank
            std::int32_t& other = word[k][(i + k) % warp_size];
            sum += other;
            other = 0;
        }
        deposit_with_others(words, sum, exponents * k - fp::Format<bfloat16>::max_exponent - fraction_bits);
        sync_warp();
    }
};

/// The same for terms of f32 and 16 bits, which have at most Precision bits. A thread has a word of
/// 64 bits for 32 exponents, and adds without atomics; a long term goes to two words.
template <int Precision>
struct TermColumns {
    static constexpr int exponents = 32;
    static constexpr bool in_two = Precision + exponents > 54;
    /// Exponent fields of the smallest term and of the largest, 2xy, as doubles have them.
    static constexpr int bias = fp::Format<double>::max_exponent,
                         first = (2 * fp::Format<float>::min_exponent + bias) / exponents,
                         last = (2 * fp::Format<float>::max_exponent + 2 + bias) / exponents;
    static constexpr int count = last - first + (in_two ? 2 : 1), most = 1 << (in_two ? 14 : 9);
    Word word[count][warp_size];

    __device__ __forceinline__ void clear() {
        for (auto& of_exponents : word)
            of_exponents[threadIdx.x % warp_size] = 0;
        sync_warp();
    }
    /// A finite term.
    __device__ __forceinline__ void add(double x) {
        const std::uint64_t bits = fp::to_bits(x), hidden = std::uint64_t{1} << 52;
        const auto field = static_cast<std::uint32_t>(bits >> 52) & 0x7ffu, shift = field % exponents;
        const std::uint64_t m = (field == 0 ? 0 : (bits & (hidden - 1)) | hidden) >> (53 - Precision);
        const Word sign = static_cast<std::int64_t>(bits) >> 63;
        const auto to = [&](std::uint32_t k, std::uint64_t value) {
            word[k][threadIdx.x % warp_size] += (static_cast<Word>(value) ^ sign) - sign;
        };
        const std::uint32_t k = max(field / exponents, std::uint32_t{first}) - first;
        to(k, in_two ? m << shift & 0xffffffffu : m << shift);
        if constexpr (in_two) to(k + 1, m >> (32 - shift));
    }
    __device__ __noinline__ void drain(Word* words) {
        const int k = threadIdx.x % warp_size;
        sync_warp();
        if (k < count) {
            Word low = 0, high = 0;
            for (int i = 0; i < warp_size; ++i) { // each thread in another bank
                Word& other = word[k][(i + k) % warp_size];
                low += other & 0xffffffff;
                high += other >> 32;
                other = 0;
            }
            const int unit = exponents * (k + first) - bias - (Precision - 1);
            deposit_with_others(words, low, unit);
            deposit_with_others(words, high, unit + 32);
        }
        sync_warp();
    }
};

/// Are elements of T added one by one where windows are of no use, and to what?
template <class T>
inline constexpr bool scatters = fp::is_f64<T> || std::is_same_v<T, bfloat16>;
template <class T>
using ScatteredOf = std::conditional_t<fp::is_f64<T>, Limbs<8>, Columns>;

} // namespace detreduce::cuda::exact
