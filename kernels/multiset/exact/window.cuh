// Bins in registers (spec/exact_window.hpp), and what a thread must know of its elements to use
// them.
#pragma once

#include <cstdint>

#include <detreduce/spec/exact_window.hpp>

#include "multiset/exact/words.cuh"
#include "policies.hpp"

namespace detreduce::cuda::exact {

/// Loads of 16 bytes that a thread makes a tile.
inline constexpr int tile_vectors = policy::exact_loads;

/// Elements of one thread: V loads of 16 bytes.
template <int V>
struct Vectors {
    uint4 v[V];
    /// Is there a bit that is not zero?
    __device__ __forceinline__ bool any() const {
        std::uint32_t bits = 0;
#pragma unroll
        for (int i = 0; i < V; ++i)
            bits |= v[i].x | v[i].y | v[i].z | v[i].w;
        return bits != 0;
    }
    /// A warp's tile in shared memory.
    __device__ __forceinline__ void copy_to(uint4* tile) const {
#pragma unroll
        for (int i = 0; i < V; ++i)
            tile[i * warp_size + threadIdx.x % warp_size] = v[i];
    }
    [[nodiscard]] static __device__ __forceinline__ Vectors copied(const uint4* tile) {
        Vectors t;
#pragma unroll
        for (int i = 0; i < V; ++i)
            t.v[i] = tile[i * warp_size + threadIdx.x % warp_size];
        return t;
    }
};

/// Magnitudes of some elements in the units of `Element<T>`: the largest, the smallest that is not
/// zero, less one (zeros wrap around and pass), and, where there are `Signs`, the smallest of all
/// bit patterns as signed integers, which is that of −0 if there is one.
struct Range {
    std::uint32_t largest = 0, smallest_less_one = 0xffffffffu;
    std::int32_t lowest = 0;

    /// Of an element, or of the upper half of one: a lower half that is not zero shows as the last
    /// bit, so that the smallest subnormals are not taken for zeros.
    template <bool Signs>
    __device__ __forceinline__ void take(std::uint32_t bits, std::uint32_t low = 0) {
        const std::uint32_t magnitude = (bits & 0x7fffffffu) | min(low, 1u);
        largest = max(largest, magnitude);
        smallest_less_one = min(smallest_less_one, magnitude - 1);
        if (Signs) lowest = min(lowest, static_cast<std::int32_t>(bits));
    }
};

/// What is cheaper to know, and enough for a window where there are no zeros: twice the largest and
/// smallest magnitude, since a number added to itself has lost its sign, and that is part of the
/// instruction that compares. Of doubles those of the upper halves.
struct Glance {
    std::uint32_t largest = 0, smallest = 0xffffffffu;

    __device__ __forceinline__ void take(std::uint32_t bits) {
        largest = __viaddmax_u32(bits, bits, largest);
        smallest = __viaddmin_u32(bits, bits, smallest);
    }
    __device__ __forceinline__ void take_two(std::uint32_t bits) {
        largest = __viaddmax_u16x2(bits, bits, largest);
        smallest = __viaddmin_u16x2(bits, bits, smallest);
    }
};

/// Upper half of a double with the sign and magnitude of the 16-bit float in the upper half of
/// `bits`, whose exponent field has `Width` bits: the fields are moved and not converted, so the
/// double is smaller by 2^double_shift, which is exact for zeros and subnormals, too.
template <int Width>
__device__ __forceinline__ int upper_half_of_double(std::uint32_t bits) {
    constexpr int shift = 11 - Width;
    return (static_cast<std::int32_t>(bits) >> shift) & static_cast<std::int32_t>(0x80000000u | (0x7fff0000u >> shift));
}

/// What is different between element types. `each` gives an element as it is added in bins of
/// float, `each_double` times 2^−double_shift in bins of double. `magnitude` below is that of f32
/// itself, the upper half of f64's, and of the 16-bit formats two at a time until `settle`.
template <class T>
struct Element;

template <>
struct Element<float> {
    static constexpr int fraction_bits = 23, per_vector = 4;
    template <bool Signs = true>
    static __device__ __forceinline__ void look(Range& r, const uint4& v) {
        r.take<Signs>(v.x), r.take<Signs>(v.y), r.take<Signs>(v.z), r.take<Signs>(v.w);
    }
    static __device__ __forceinline__ void look(Glance& g, const uint4& v) {
        g.take(v.x), g.take(v.y), g.take(v.z), g.take(v.w);
    }
    template <class Seen>
    static __device__ __forceinline__ void settle(Seen&) {}
    template <class F>
    static __device__ __forceinline__ void each(const uint4& v, const F& f) {
        f(__uint_as_float(v.x)), f(__uint_as_float(v.y)), f(__uint_as_float(v.z)), f(__uint_as_float(v.w));
    }

    static constexpr int double_shift = 0;
    template <class F>
    static __device__ __forceinline__ void each_double(const uint4& v, const F& f) {
        each(v, [&](float x) { f(static_cast<double>(x)); });
    }
};

template <>
struct Element<double> {
    static constexpr int fraction_bits = 20, per_vector = 2; // of the upper half
    template <bool Signs = true>
    static __device__ __forceinline__ void look(Range& r, const uint4& v) {
        r.take<Signs>(v.y, v.x), r.take<Signs>(v.w, v.z);
    }
    static __device__ __forceinline__ void look(Glance& g, const uint4& v) { g.take(v.y), g.take(v.w); }
    template <class Seen>
    static __device__ __forceinline__ void settle(Seen&) {}
    template <class F>
    static __device__ __forceinline__ void each(const uint4& v, const F& f) {
        f(__hiloint2double(static_cast<int>(v.y), static_cast<int>(v.x)));
        f(__hiloint2double(static_cast<int>(v.w), static_cast<int>(v.z)));
    }

    static constexpr int double_shift = 0;
    template <class F>
    static __device__ __forceinline__ void each_double(const uint4& v, const F& f) {
        each(v, f);
    }
};

/// What elements are larger by than Element::each_double() has them: a power of two.
template <class T>
inline constexpr double
    scale_of_moved = fp::from_bits<double>(static_cast<std::uint64_t>(1023 + Element<T>::double_shift) << 52);

/// Two elements a register.
template <class T>
struct Element16 {
    static constexpr int fraction_bits = fp::Format<T>::precision - 1, per_vector = 8;
    template <bool Signs = true>
    static __device__ __forceinline__ void look(Range& r, const uint4& v) {
        look<Signs>(r, v.x), look<Signs>(r, v.y), look<Signs>(r, v.z), look<Signs>(r, v.w);
    }
    static __device__ __forceinline__ void look(Glance& g, const uint4& v) {
        g.take_two(v.x), g.take_two(v.y), g.take_two(v.z), g.take_two(v.w);
    }
    static __device__ __forceinline__ void settle(Glance& g) {
        g.largest = max(g.largest & 0xffffu, g.largest >> 16);
        g.smallest = min(g.smallest & 0xffffu, g.smallest >> 16);
    }
    static __device__ __forceinline__ void settle(Range& r) {
        r.largest = max(r.largest & 0xffffu, r.largest >> 16);
        r.smallest_less_one = min(r.smallest_less_one & 0xffffu, r.smallest_less_one >> 16);
        if (r.smallest_less_one == 0xffffu) r.smallest_less_one = 0xffffffffu;
        const auto lower = static_cast<std::int16_t>(r.lowest & 0xffff),
                   upper = static_cast<std::int16_t>(r.lowest >> 16);
        r.lowest = min(lower, upper) == INT16_MIN ? INT32_MIN : 0;
    }
    template <class F>
    static __device__ __forceinline__ void each(const uint4& v, const F& f) {
        pair(v.x, f), pair(v.y, f), pair(v.z, f), pair(v.w, f);
    }

    static constexpr int double_shift = 1023 - fp::Format<T>::max_exponent;
    template <class F>
    static __device__ __forceinline__ void each_double(const uint4& v, const F& f) {
        pair_of_doubles(v.x, f), pair_of_doubles(v.y, f), pair_of_doubles(v.z, f), pair_of_doubles(v.w, f);
    }

  private:
    template <class F>
    static __device__ __forceinline__ void pair_of_doubles(std::uint32_t bits, const F& f) {
        constexpr int width = 16 - fp::Format<T>::precision;
        f(__hiloint2double(upper_half_of_double<width>(bits << 16), 0));
        f(__hiloint2double(upper_half_of_double<width>(bits), 0));
    }
    template <bool Signs>
    static __device__ __forceinline__ void look(Range& r, std::uint32_t bits) {
        const std::uint32_t magnitude = bits & 0x7fff7fffu;
        r.largest = __vmaxu2(r.largest, magnitude);
        r.smallest_less_one = __viaddmin_u16x2(magnitude, 0xffffffffu, r.smallest_less_one);
        if (Signs) r.lowest = static_cast<std::int32_t>(__vmins2(static_cast<std::uint32_t>(r.lowest), bits));
    }
    template <class F>
    static __device__ __forceinline__ void pair(std::uint32_t bits, const F& f) {
        if constexpr (fp::Format<T>::precision == 8) { // bf16: the upper half of a float
            f(__uint_as_float(bits << 16)), f(__uint_as_float(bits & 0xffff0000u));
        } else {
            f(widen(float16::from_bits(static_cast<std::uint16_t>(bits)))),
                f(widen(float16::from_bits(static_cast<std::uint16_t>(bits >> 16))));
        }
    }
};
template <>
struct Element<float16> : Element16<float16> {};
template <>
struct Element<bfloat16> : Element16<bfloat16> {
    /// Are sums of four numbers floats, of numbers that lie like these? Their bits then span 24,
    /// and the sum is no infinity.
    [[nodiscard]] static __device__ __forceinline__ bool fours_fit(const Range& r) {
        constexpr int most = 24 - 8 - 2;
        const int high = static_cast<int>(r.largest >> 7), low = static_cast<int>((r.smallest_less_one + 1) >> 7);
        return high - max(low, 1) < most && high < 250;
    }
    /// As each_double(), sums of four numbers.
    template <class F>
    static __device__ __forceinline__ void each_four(const uint4& v, const F& f) {
        four(v.x, v.y, f), four(v.z, v.w, f);
    }

  private:
    template <class F>
    static __device__ __forceinline__ void four(std::uint32_t x, std::uint32_t y, const F& f) {
        const float sum = (__uint_as_float(x << 16) + __uint_as_float(x & 0xffff0000u)) +
                          (__uint_as_float(y << 16) + __uint_as_float(y & 0xffff0000u));
        const std::uint32_t bits = __float_as_uint(sum);
        f(__hiloint2double((static_cast<std::int32_t>(bits) >> 3) & static_cast<std::int32_t>(0x8fffffffu),
                           static_cast<int>(bits << 29)));
    }
};

/// Are there only magnitudes below `above`, and above minimum_less_one? For a Glance also: and no
/// zeros.
__device__ __forceinline__ bool lie_between(const Range& r, std::uint32_t above, std::uint32_t minimum_less_one) {
    return r.largest < above && r.smallest_less_one >= minimum_less_one;
}
__device__ __forceinline__ bool lie_between(const Glance& g, std::uint32_t above, std::uint32_t minimum_less_one) {
    return g.largest >> 1 < above && g.smallest >> 1 > minimum_less_one;
}

/// Where a window of W stands for elements of T: what lies between the limits is summed exactly.
/// Uniform in the warp.
template <class T, class W>
struct Limits {
    using F = fp::Format<T>;
    static constexpr int normal = 1 - F::max_exponent; ///< exponent of the smallest normal number
    static constexpr int infinity = F::max_exponent + 1;
    int top = 0;
    std::uint32_t above = 0; ///< magnitudes below this are below 2^top; 0: no window yet
    std::uint32_t minimum_less_one = 0;

    /// Magnitude of 2^exponent, for exponents from that of the smallest normal number to that of
    /// infinity.
    static __device__ __forceinline__ std::uint32_t magnitude_of(int exponent) {
        return static_cast<std::uint32_t>(exponent + F::max_exponent) << Element<T>::fraction_bits;
    }
    static __device__ __forceinline__ int exponent_of(std::uint32_t magnitude) {
        const int field = static_cast<int>(magnitude >> Element<T>::fraction_bits);
        return (field > 1 ? field : 1) - F::max_exponent;
    }
    template <class Seen>
    __device__ __forceinline__ bool hold(const Seen& seen) const {
        return lie_between(seen, above, minimum_less_one);
    }
    /// The window for numbers below 2^t.
    static __device__ __forceinline__ Limits at(int t) {
        Limits l;
        l.top = t;
        l.above = magnitude_of(min(max(t, normal), infinity));
        const int minimum =
            t - W::span + F::precision - 1; // the smallest exponent whose last bit is a multiple of the last Q
        l.minimum_less_one = minimum <= normal ? 0 : magnitude_of(min(minimum, infinity)) - 1;
        return l;
    }
    /// A window around elements of which these are the largest and the smallest, if there is one:
    /// half of the room to spare above them.
    static __device__ __forceinline__ bool find(const Range& r, Limits& l) {
        if (r.largest >= magnitude_of(infinity)) return false;
        const int high = exponent_of(r.largest) + 1;
        const int low = r.smallest_less_one == 0xffffffffu ? high : exponent_of(r.smallest_less_one + 1);
        const int spare = W::span - F::precision + 1 - (high - low);
        if (spare < 0) return false;
        const int top = min(max(high + spare / 2, W::lowest_top + shift), W::highest_top + shift);
        l = at(top);
        return high <= top && l.hold(r);
    }
    /// In bins of double elements are smaller by 2^shift.
    static constexpr int shift = std::is_same_v<typename W::F, fp::Format<double>> ? Element<T>::double_shift : 0;
};

/// The bins of one thread.
template <class T, class W>
struct Bins {
    using B = decltype(W::anchor(0, 0));
    static constexpr bool doubles = fp::is_f64<B>;
    static constexpr int shift = doubles ? Element<T>::double_shift : 0;
    B s[W::bins];

    __device__ __forceinline__ void reset(int top) {
#pragma unroll
        for (int k = 0; k < W::bins; ++k)
            s[k] = W::anchor(top - shift, k);
    }
    __device__ __forceinline__ void add(const uint4& v) {
        if constexpr (doubles) {
            Element<T>::each_double(v, [&](double x) { add(x); });
        } else {
            Element<T>::each(v, [&](float x) { add(x); });
        }
    }
    /// The same of elements whose sums by fours are floats.
    __device__ __forceinline__ void add_fours(const uint4& v) {
        Element<T>::each_four(v, [&](double x) { add(x); });
    }
    /// Adds a number that the window holds: what the bins before leave of it is a multiple of the
    /// last Q. To bins from number First on.
    template <int First = 0>
    __device__ __forceinline__ void add(B x) {
#pragma unroll
        for (int k = First; k + 1 < W::bins; ++k) {
            const B t = s[k] + x, q = t - s[k];
            s[k] = t;
            x = x - q;
        }
        s[W::bins - 1] = s[W::bins - 1] + x;
    }
    /// What bin k holds, in units of its Q.
    __device__ __forceinline__ Word read(int top, int k) const {
        using Signed = std::conditional_t<fp::is_f64<B>, std::int64_t, std::int32_t>;
        return static_cast<Signed>(fp::to_bits(s[k])) - static_cast<Signed>(fp::to_bits(W::anchor(top - shift, k)));
    }
    /// Exponent of that Q.
    [[nodiscard]] static __device__ __forceinline__ int unit(int top, int k) {
        return W::unit(top - shift, k) + shift;
    }
};

} // namespace detreduce::cuda::exact
