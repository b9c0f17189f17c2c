// `exact` of the ops: terms (spec/terms.hpp) instead of elements. Each is made into doubles without error, and those go the way of elements
// of f64: through the bins of a window, or, where a tile has no window, by slower means. A product of doubles is two doubles, its rounded value and the
// error of that, each with a window of its own.
#pragma once

#include <detreduce/spec/terms.hpp>

#include "exact/kernels.cuh"

namespace detreduce::cuda::exact {

/// Elements of one thread.
template <class T, int Count>
struct Numbers {
    T v[Count];
};

/// One or two inputs as tiles of warps.
template <class T, class Map>
struct Terms {
    static constexpr bool binary = Map::inputs == 2;
    /// Products of doubles may leave the range of double.
    static constexpr bool has_errors = sizeof(T) == 8 && !Map::linear;
    static constexpr int states = has_errors ? acc::exact::product_states : 1;
    static constexpr int vectors = 4; ///< loads of 16 bytes a thread, of each input
    static constexpr int each = vectors * 16 / static_cast<int>(sizeof(T)); ///< elements a thread
    static constexpr std::uint64_t tile = std::uint64_t{each} * warp_size;
    using Mine = Numbers<T, each>;

    const T* x;
    const T* y;
    std::uint64_t n;
    bool aligned;

    Terms(const T* x_elements, const T* y_elements, std::uint64_t count) : x(x_elements), y(y_elements), n(count) {
        aligned = reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && reinterpret_cast<std::uintptr_t>(y) % 16 == 0;
    }
    [[nodiscard]] __host__ __device__ std::uint64_t full() const { return n / tile; }
    [[nodiscard]] std::uint64_t tasks() const { return full(); }

    /// A full tile of one of the inputs.
    __device__ __forceinline__ Mine load(const T* input, std::uint64_t at) const {
        const int lane = threadIdx.x % warp_size;
        const T* const p = input + at * tile;
        Mine mine;
        if (aligned) {
            uint4 raw[vectors];
#pragma unroll
            for (int i = 0; i < vectors; ++i)
                raw[i] = load16<Source::aligned_input>(reinterpret_cast<const uint4*>(p) + i * warp_size + lane);
            __builtin_memcpy(&mine, raw, sizeof mine);
        } else {
#pragma unroll
            for (int i = 0; i < each; ++i)
                mine.v[i] = load_number(p + i * warp_size + lane);
        }
        return mine;
    }
    /// What is left behind the full tiles. Zeros, whose terms are +0, take the places of what is not there.
    __device__ __forceinline__ Mine load_rest(const T* input) const {
        const std::uint64_t first = full() * tile + threadIdx.x % warp_size;
        Mine mine;
#pragma unroll
        for (int i = 0; i < each; ++i)
            mine.v[i] = first + i * warp_size < n ? load_number(input + first + i * warp_size) : T{};
        return mine;
    }
};

template <class T, class Map>
inline constexpr int blocks_at_once<Terms<T, Map>> = Map::inputs == 2 ? 3 : 4;

/// Doubles that a thread makes of its elements at once, and the loads they would be.
inline constexpr int terms_at_once(std::size_t bytes) {
    return bytes == 8 ? 8 : 16;
}

template <class T, class Map>
struct WarpMemory<Terms<T, Map>> {
    Word words[Terms<T, Map>::states * acc::exact::words];
    uint4 copy[terms_at_once(sizeof(T)) / 2 * warp_size];
};

template <class T, class Map>
struct TermWalk {
    using Input = Terms<T, Map>;
    using Mine = typename Input::Mine;
    static constexpr int count = terms_at_once(sizeof(T)), V = count / 2;
    using Sum = WarpSum<double, spec::ExactWindow<double, 3, 6>, V>;
    struct Nothing {
        __device__ __forceinline__ explicit Nothing(Word*) {}
    };

    Word* states;
    uint4* copy;
    Sum values;
    std::conditional_t<Input::has_errors, Sum, Nothing> errors;
    std::uint32_t slow_tiles = 0;

    __device__ __forceinline__ TermWalk(WarpMemory<Input>& own)
        : states(own.words), copy(own.copy), values(own.words + LongOf<Input::states>::counters),
          errors(own.words + LongOf<Input::states>::counters) {}

    static __device__ __forceinline__ double number(T v) { return static_cast<double>(widen(v)); }

    __device__ __forceinline__ void carry() {
        for (int s = 0; s < Input::states; ++s)
            warp_carry(states + s * acc::exact::words);
    }

    __device__ __forceinline__ void take(Sum& sum, const double (&t)[count]) {
        Vectors<V> v;
        __builtin_memcpy(&v, t, sizeof v);
        if (sum.take(v)) return;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < V; ++i)
            copy[i * warp_size + threadIdx.x % warp_size] = v.v[i];
        __syncwarp();
        add_wide_tile<double, V>(copy, sum.words);
        if (++slow_tiles % (1u << 16) == 0) carry();
    }

    /// Products outside the range of double, each to the state where it belongs.
    static __device__ __noinline__ void place(double a, double b, double factor, Word* states) {
        const acc::exact::ScaledProduct p = acc::exact::scaled_product(a, b, factor);
        const double value = Map::parts > 1 ? p.value + 0.0 : p.value, error = p.error + 0.0;
        const uint4 both = {
            static_cast<std::uint32_t>(__double2loint(value)), static_cast<std::uint32_t>(__double2hiint(value)),
            static_cast<std::uint32_t>(__double2loint(error)), static_cast<std::uint32_t>(__double2hiint(error))};
        scatter<double>(both, states + p.state * acc::exact::words);
    }

    /// Part k of the terms of `count` elements.
    __device__ __forceinline__ void add_part(int k, const T* x, const T* y) {
        double t[count], e[count];
        bool outside = false;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const terms::Product f = Map::part(k, number(x[i]), number(y[i]));
            const double p = Map::linear ? f.a : f.a * f.b, scaled = Map::linear ? p : f.factor * p;
            t[i] = Map::parts > 1 ? scaled + 0.0 : scaled;
            if constexpr (Input::has_errors) {
                const auto exponent = static_cast<std::uint32_t>(__double2hiint(p)) >> 20 & 0x7ffu;
                // 2^-900 ≤ |p| < 2^1000, or a zero
                outside |= exponent - (1023u - 900u) >= 1900u && f.a != 0 && f.b != 0;
                e[i] = f.factor * __fma_rn(f.a, f.b, -p) + 0.0;
            }
        }
        if constexpr (Input::has_errors) {
            if (__any_sync(all_threads, outside)) {
                for (int i = 0; i < count; ++i) {
                    const terms::Product f = Map::part(k, number(x[i]), number(y[i]));
                    place(f.a, f.b, f.factor, states);
                }
                if (++slow_tiles % (1u << 16) == 0) carry();
                __syncwarp();
                return;
            }
            take(errors, e);
        }
        take(values, t);
    }

    __device__ __forceinline__ void add(const Mine& x, const Mine& y) {
#pragma unroll
        for (int first = 0; first < Input::each; first += count) {
#pragma unroll
            for (int k = 0; k < Map::parts; ++k)
                add_part(k, x.v + first, y.v + first);
        }
    }

    __device__ __forceinline__ void flush() {
        values.flush_all();
        if constexpr (Input::has_errors) errors.flush_all();
    }
};

template <class T, class Map>
__device__ __forceinline__ void add_share(const Terms<T, Map>& input, WarpMemory<Terms<T, Map>>& own,
                                          std::uint64_t first, std::uint64_t warps, const Between&) {
    using Input = Terms<T, Map>;
    using Mine = typename Input::Mine;
    TermWalk<T, Map> walk(own);
    const std::uint64_t full = input.full();
    std::uint64_t at = first;
    if (at < full) {
        Mine next_x = input.load(input.x, at), next_y{};
        if constexpr (Input::binary) next_y = input.load(input.y, at);
        for (; at < full; at += warps) {
            const Mine x = next_x, y = Input::binary ? next_y : next_x;
            if (at + warps < full) {
                next_x = input.load(input.x, at + warps);
                if constexpr (Input::binary) next_y = input.load(input.y, at + warps);
            }
            walk.add(x, y);
        }
    }
    if (at == full && input.n % Input::tile != 0) {
        const Mine x = input.load_rest(input.x);
        walk.add(x, Input::binary ? input.load_rest(input.y) : x);
    }
    walk.flush();
}

} // namespace detreduce::cuda::exact
