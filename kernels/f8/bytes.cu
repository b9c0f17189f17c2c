#include "f8/bytes.hpp"

#include "f8/f16_of_bytes.cuh"
#include "for_each.cuh"
#include "multiset/accumulators.cuh"
#include "multiset/exact/bin_sums.cuh"
#include "multiset/results.cuh"

namespace detreduce::cuda {
namespace {

using exact::Word;

inline constexpr int loads = policy::byte_loads;
inline constexpr std::uint32_t signs = 0x80808080u, magnitudes = ~signs;
static_assert(policy::byte_batch == loads * warp_size * sizeof(uint4));

/// The sign bit of each byte of w whose magnitude is `least` or more; other bits say nothing.
[[nodiscard]] __device__ __forceinline__ std::uint32_t reaching(std::uint32_t w, std::uint32_t least) {
    return (w & magnitudes) + (0x80 - least) * 0x01010101u;
}

/// f(word) of each of some loads.
template <int N, class F>
__device__ __forceinline__ void each_word(const exact::Vectors<N>& v, const F& f) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        f(v.v[i].x), f(v.v[i].y), f(v.v[i].z), f(v.v[i].w);
}

/// Sums of terms by `exact`. What a thread adds up at once is a double, for e4m3 a float, without
/// rounding; what it keeps is an integer, in units of the smallest term.
template <class T, Transform Which>
struct Sums {
    using F = fp::Format<T>;
    static constexpr bool squares = Which == Transform::square, in_floats = !squares && !F::has_inf;
    /// Sums are smaller by 2^moved.
    static constexpr int unit = (squares ? 2 : 1) * F::min_exponent,
                         moved = in_floats ? 0
                                 : squares ? 1023 - 127
                                           : exact::Element<float16>::double_shift;
    static constexpr std::uint32_t first_nan = F::largest + 1 + F::has_inf;
    /// Squares of e5m2 have 64 bits. Of magnitudes below 2^7, and of those from 2^-5 on, 64 are
    /// added up in 52.
    static constexpr bool wide = squares && F::has_inf;
    static constexpr int blocks = wide ? 3 : policy::bytes.blocks; ///< on a multiprocessor: as registers suffice
    static constexpr std::uint32_t limit = wide ? (F::bias + 7) << (F::precision - 1) : F::largest + 1,
                                   large = (F::bias - 5) << (F::precision - 1);
    static_assert(large < limit);
    static constexpr int unit_of_large = 2 * (-5 - (F::precision - 1));
    /// What is kept in two words: 2^21 numbers of this many bits, of a part, fit into the lower
    /// one, and squares of 2^40 elements of e5m2 into the upper one.
    static constexpr int split = 41;
    static constexpr Word lower_bits = (Word{1} << split) - 1;
    static_assert(16 * loads <= 64);

    enum Flag : std::uint32_t { other = 1, nan = 2, up = 4, down = 8 }; ///< `other`: than −0

    exact::Finish finish;
    std::uint64_t n;

    struct Total {
        Word low = 0, high = 0; ///< low + 2^split·high
        std::uint32_t flags = 0;

        __device__ __forceinline__ void add(const Total& more) {
            low += more.low;
            high += more.high;
            flags |= more.flags;
        }
    };

    [[nodiscard]] __device__ __forceinline__ Total start() const { return {}; }
    /// 16 bytes with this one, and with −0 or magnitudes of 0 behind it.
    [[nodiscard]] __device__ __forceinline__ uint4 only(std::uint8_t byte) const {
        constexpr std::uint32_t zeros = Which == Transform::element ? signs : 0;
        return {(zeros & ~0xffu) | byte, zeros, zeros, zeros};
    }

    template <int N>
    __device__ __forceinline__ void take(Total& total, const exact::Vectors<N>& v) const {
        double sum = 0;
        if constexpr (in_floats) { // NaN shows
            sum = sum_of(v);
            if (sum != sum) return total.add(otherwise(v));
        } else {
            std::uint32_t seen = 0;
            each_word(v, [&](std::uint32_t w) { seen |= reaching(w, limit); });
            if ((seen & signs) != 0) return total.add(otherwise(v));
            sum = sum_of(v);
        }
        const bool minus_zero =
            Which == Transform::element && static_cast<std::uint32_t>(__double2hiint(sum)) == 1u << 31;
        total.flags |= minus_zero ? 0 : other;
        total.add(in_words(sum, unit));
    }

    /// That of all threads of the warp.
    [[nodiscard]] __device__ __forceinline__ Total all(const Total& mine) const {
        Total total{exact::warp_sum(mine.low), wide ? exact::warp_sum(mine.high) : 0, 0};
        if (any_of_warp(mine.flags != 0)) total.flags = other;
        if (any_of_warp(mine.flags > other)) {
            for (const std::uint32_t flag : {nan, up, down})
                if (any_of_warp((mine.flags & flag) != 0)) total.flags |= flag;
        }
        return total;
    }

    // Totals of parts meet in room_words words, which are 0 before.
    __device__ __forceinline__ void put(Word* room, const Total& total) const {
        exact::atomic_add(room, total.low & lower_bits);
        exact::atomic_add(room + 1, total.high + (total.low >> split));
        atomicOr(reinterpret_cast<std::uint32_t*>(room + 2), total.flags);
    }
    [[nodiscard]] __device__ __forceinline__ Total got(const Word* room) const {
        return {load_from_l2(room), load_from_l2(room + 1),
                load_from_l2(reinterpret_cast<const std::uint32_t*>(room + 2))};
    }

    __device__ __forceinline__ void store(std::uint64_t row, const Total& total) const {
        using acc::exact::Outcome;
        const exact::Finish to = finish.moved(row);
        const __int128 sum = static_cast<__int128>(total.high) * (lower_bits + 1) + total.low;
        const auto word = static_cast<Word>(sum);
        constexpr Word most = Word{1} << 53;
        if (total.flags > other) {
            const bool none = (total.flags & nan) != 0 || (total.flags & (up | down)) == (up | down);
            to.store(none ? Outcome{} : Outcome::signed_of(Outcome::Kind::infinity, (total.flags & down) != 0), n);
        } else if (sum == 0) {
            to.store(Outcome::signed_of(Outcome::Kind::zero, Which == Transform::element && total.flags == 0), n);
        } else if (sum == word && word <= most && word >= -most && to.finalize == Finalize::sum) {
            exact::store_sum(to.out, to.output, static_cast<double>(word) * power_of_two(unit), 0);
        } else {
            to.store(Outcome::of(acc::exact::leading(sum, unit)), n);
        }
    }

  private:
    /// The sum of terms, which are numbers, times 2^-moved.
    template <int N>
    [[nodiscard]] static __device__ __forceinline__ double sum_of(const exact::Vectors<N>& v) {
        using Partial = std::conditional_t<in_floats, float, double>;
        Partial low = -0.0f, high = -0.0f;
        each_word(v, [&](std::uint32_t w) {
            if (Which == Transform::magnitude) w &= magnitudes;
#pragma unroll
            for (int upper = 0; upper < 2; ++upper) {
                const std::uint32_t halves = both_f16_of<T>(w, upper);
                if constexpr (squares || in_floats) {
                    low += term(f32_of_low_f16(halves));
                    high += term(f32_of_high_f16(halves));
                } else {
                    low += __hiloint2double(exact::upper_half_of_double<5>(halves << 16), 0);
                    high += __hiloint2double(exact::upper_half_of_double<5>(halves), 0);
                }
            }
        });
        return low + high;
    }
    [[nodiscard]] static __device__ __forceinline__ auto term(float x) {
        if constexpr (in_floats) {
            return x;
        } else { // a square has 8 bits at most, all in the upper half of a double
            return __hiloint2double(static_cast<int>(__float_as_uint(x * x) >> 3), 0);
        }
    }
    /// The same in units of 2^in.
    [[nodiscard]] static __device__ __forceinline__ Total in_words(double sum, int in) {
        const int up = moved - in;
        const auto word = static_cast<Word>(sum * power_of_two(up / 2) * power_of_two(up - up / 2));
        return wide ? Total{word & lower_bits, word >> split, 0} : Total{word, 0, 0};
    }
    /// Where there are numbers beyond the limit, NaN or infinities; with these the sum says
    /// nothing.
    template <int N>
    [[nodiscard]] static __device__ __noinline__ Total otherwise(exact::Vectors<N> v) {
        Total total{0, 0, other};
        std::uint32_t nans = 0, ups = 0, downs = 0;
        each_word(v, [&](std::uint32_t w) {
            if (Which != Transform::element) w &= magnitudes;
            const std::uint32_t is_nan = reaching(w, first_nan),
                                infinite = F::has_inf ? reaching(w, F::largest + 1) & ~is_nan : 0;
            nans |= is_nan;
            ups |= infinite & ~w;
            downs |= infinite & w;
        });
        total.flags |=
            ((nans & signs) != 0 ? nan : 0) | ((ups & signs) != 0 ? up : 0) | ((downs & signs) != 0 ? down : 0);
        if (!wide || total.flags != other) return total;
        exact::Vectors<N> rest = v;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const auto part = [](std::uint32_t& of_large, std::uint32_t& of_small) {
                const std::uint32_t bytes = ((reaching(of_large, large) & signs) >> 7) * 0xff;
                of_large &= bytes;
                of_small &= ~bytes;
            };
            part(v.v[i].x, rest.v[i].x), part(v.v[i].y, rest.v[i].y);
            part(v.v[i].z, rest.v[i].z), part(v.v[i].w, rest.v[i].w);
        }
        total.add(in_words(sum_of(rest), unit));
        const Total of_large = in_words(sum_of(v), unit_of_large);
        constexpr int up_by = wide ? unit_of_large - unit : 0;
        static_assert(up_by >= 0 && split + up_by < 63);
        const Word lower = of_large.low << up_by;
        total.low += lower & lower_bits;
        total.high += (of_large.high << up_by) + (lower >> split);
        return total;
    }
};

/// Ops that compare: the largest keys (spec/order_key.hpp) of one view, or of two.
template <class A>
struct Extremes {
    using T = typename A::Type;
    using Key = typename spec::KeyMap<T>::Key;
    static constexpr int views = A::values, blocks = policy::bytes.blocks;

    A accumulator;
    multiset::Results results;

    /// Of a thread two keys a view, in the upper halves of 16 bits; in the end one, as a number.
    struct Total {
        std::uint32_t keys[views];
    };

    [[nodiscard]] __device__ __forceinline__ Total start() const {
        Total total;
        for (std::uint32_t& k : total.keys)
            k = both(static_cast<std::uint8_t>(spec::KeyMap<T>::lowest));
        return total;
    }
    [[nodiscard]] __device__ __forceinline__ uint4 only(std::uint8_t byte) const {
        const std::uint32_t w = byte * 0x01010101u;
        return {w, w, w, w};
    }
    template <int N>
    __device__ __forceinline__ void take(Total& total, const exact::Vectors<N>& v) const {
        each_word(v, [&](std::uint32_t w) {
#pragma unroll
            for (int i = 0; i < views; ++i) {
                take(total.keys[i], i, w);
                take(total.keys[i], i, w << 8);
            }
        });
    }
    [[nodiscard]] __device__ __forceinline__ Total all(const Total& mine) const {
        Total total;
#pragma unroll
        for (int i = 0; i < views; ++i) {
            const auto key = [&](std::uint32_t half) { return static_cast<std::int32_t>(static_cast<Key>(half >> 8)); };
            const std::int32_t k = warp_max(max(key(mine.keys[i] & 0xffff), key(mine.keys[i] >> 16)));
            total.keys[i] = static_cast<std::uint32_t>(k - spec::KeyMap<T>::lowest);
        }
        return total;
    }
    __device__ __forceinline__ void put(Word* room, const Total& total) const {
#pragma unroll
        for (int i = 0; i < views; ++i)
            atomicMax(reinterpret_cast<std::uint32_t*>(room + i), total.keys[i]);
    }
    [[nodiscard]] __device__ __forceinline__ Total got(const Word* room) const {
        Total total;
#pragma unroll
        for (int i = 0; i < views; ++i)
            total.keys[i] = load_from_l2(reinterpret_cast<const std::uint32_t*>(room + i));
        return total;
    }
    __device__ __forceinline__ void store(std::uint64_t row, const Total& total) const {
        multiset::Found found{};
#pragma unroll
        for (int i = 0; i < views; ++i) {
            const auto key = static_cast<Key>(static_cast<std::int32_t>(total.keys[i]) + spec::KeyMap<T>::lowest);
            found.set_key(i, accumulator.keys[i].map.settled(key));
        }
        multiset::store(results, accumulator, row, found);
    }

  private:
    [[nodiscard]] static __device__ __forceinline__ std::uint32_t both(std::uint8_t byte) {
        return byte * 0x01000100u;
    }
    /// The keys of bytes 1 and 3 of w.
    __device__ __forceinline__ void take(std::uint32_t& best, int i, std::uint32_t w) const {
        const auto& map = accumulator.keys[i].map;
        w &= both(map.keep);
        w ^= (signs_of_both(w) & both(spec::KeyMap<T>::magnitude_mask)) ^ both(map.flip);
        best = __viaddmax_s16x2(w, both(map.add), best);
    }
};

/// What there is to reduce, in parts of rows.
struct Bytes {
    const std::uint8_t* x;
    std::uint64_t rows, n, stride;
    ByteParts in;
    Word* rooms;         ///< of rows that have several parts
    std::uint32_t batch; ///< parts that a warp takes at a time, at most 32: then a thread each finishes one
};

/// The bytes first … last − 1, of which there is one, by a warp.
template <class Op>
[[nodiscard]] __device__ __forceinline__ typename Op::Total look_at(const Op& op, const std::uint8_t* first,
                                                                    const std::uint8_t* last) {
    constexpr std::uintptr_t low = sizeof(uint4) - 1;
    const std::uint32_t lane = threadIdx.x % warp_size;
    const auto before = static_cast<std::uint64_t>(-reinterpret_cast<std::uintptr_t>(first) & low);
    const std::uint8_t* const begin = first + min(before, static_cast<std::uint64_t>(last - first));
    const std::uint8_t* const end = begin + (static_cast<std::uint64_t>(last - begin) & ~low);
    auto total = op.start();
    const auto* p = reinterpret_cast<const uint4*>(begin) + lane;
    auto vectors = static_cast<std::uint64_t>(end - begin) / sizeof(uint4);
    for (; vectors >= loads * warp_size; vectors -= loads * warp_size, p += loads * warp_size) {
        exact::Vectors<loads> v;
#pragma unroll
        for (int i = 0; i < loads; ++i)
            v.v[i] = load16_once(p + i * warp_size);
        op.take(total, v);
    }
    exact::Vectors<1> rest[loads];
#pragma unroll
    for (int i = 0; i < loads; ++i)
        load16_once_if(i * warp_size + lane < vectors, p + i * warp_size, rest[i].v[0]);
#pragma unroll 1
    for (int i = 0; i * warp_size + lane < vectors; ++i) {
        op.take(total, rest[0]);
#pragma unroll
        for (int k = 0; k + 1 < loads; ++k)
            rest[k] = rest[k + 1];
    }
    const std::uint32_t head = static_cast<std::uint32_t>(begin - first),
                        edges = head + static_cast<std::uint32_t>(last - end);
    if (lane < edges) op.take(total, exact::Vectors<1>{{op.only(lane < head ? first[lane] : end[lane - head])}});
    return op.all(total);
}

template <class Op>
__global__ void __launch_bounds__(policy::bytes.threads, Op::blocks)
    bytes_kernel(const __grid_constant__ Op op, const __grid_constant__ Bytes bytes) {
    const std::uint32_t lane = threadIdx.x % warp_size, block_warps = blockDim.x / warp_size;
    const std::uint64_t warp = std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_size,
                        step = std::uint64_t{gridDim.x} * block_warps * bytes.batch,
                        parts = bytes.rows * bytes.in.parts;
    for (std::uint64_t base = warp * bytes.batch; base < parts; base += step) {
        const auto count = static_cast<std::uint32_t>(min(std::uint64_t{bytes.batch}, parts - base));
        typename Op::Total mine{};
#pragma unroll 1
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint64_t row = bytes.in.parts == 1 ? base + i : (base + i) / bytes.in.parts,
                                begin = (base + i - row * bytes.in.parts) * bytes.in.length;
            const std::uint8_t* const x = bytes.x + row * bytes.stride;
            const auto total = look_at(op, x + begin, x + min(begin + bytes.in.length, bytes.n));
            if (lane == i) mine = total;
        }
        if (lane >= count) continue;
        if (bytes.in.parts == 1) {
            op.store(base + lane, mine);
            continue;
        }
        const std::uint64_t row = (base + lane) / bytes.in.parts;
        Word* const room = bytes.rooms + row * ByteParts::room_words;
        op.put(room, mine);
        auto* const arrived = reinterpret_cast<std::uint32_t*>(room + ByteParts::room_words - 1);
        if (count_arrival(arrived, 1) + 1 == bytes.in.parts) op.store(row, op.got(room));
    }
}

template <class Op>
[[nodiscard]] Status launch(const Run& run, const Op& op) {
    const Request& r = run.request();
    const std::uint32_t threads = run.plan.launch().block, warps = threads / warp_size;
    Bytes bytes{static_cast<const std::uint8_t*>(run.in.x),
                run.plan.groups(),
                r.n,
                detail::strides_of(r).group,
                ByteParts(r, run.device()),
                static_cast<Word*>(run.workspace),
                1};
    if (bytes.in.parts == 1) bytes.batch = batch_of(run.plan, policy::warps_of_bytes * run.device().sms / warps, warps);
    Status status;
    if (bytes.in.parts > 1) status = clear(bytes.rooms, bytes.in.workspace_bytes(r), run.stream);
    if (!status.ok()) return status;
    const std::uint64_t useful = spec::tiles(bytes.rows * bytes.in.parts, std::uint64_t{warps} * bytes.batch);
    return launch_kernel(LaunchKind::plain, bytes_kernel<Op>, run.blocks(useful, policy::most_byte_blocks), threads, 0,
                         run.stream, op, bytes);
}

template <class T>
[[nodiscard]] Status launch_op(const Run& run) {
    const Request& r = run.request();
    if (r.op == Op::minmax)
        return launch(run,
                      Extremes<multiset::Ends<T>>{multiset::Ends<T>::of(r), multiset::Results::of(run.plan, run.out)});
    if (info(r.op).kind == Kind::order)
        return launch(run,
                      Extremes<multiset::Best<T>>{multiset::Best<T>::of(r), multiset::Results::of(run.plan, run.out)});
    const auto finish = exact::Finish::of(run.plan, run.out);
    switch (info(r.op).transform) {
    case Transform::element:
        return launch(run, Sums<T, Transform::element>{finish, r.n});
    case Transform::magnitude:
        return launch(run, Sums<T, Transform::magnitude>{finish, r.n});
    default:
        return launch(run, Sums<T, Transform::square>{finish, r.n});
    }
}

} // namespace

bool reduces_bytes(const Request& r, const detail::Route& route) {
    const OpInfo& op = info(r.op);
    const bool is_sum = route.engine == detail::Engine::exact && op.kind == Kind::sum && op.inputs == 1,
               is_end = route.engine == detail::Engine::order && op.kind == Kind::order && !op.gives_integer,
               in_rows = r.shape == Shape::rows && r.n >= policy::shortest_byte_row;
    return (is_sum || is_end) && !route.computed && !r.state && (r.shape == Shape::flat || in_rows);
}

Status launch_bytes(const Run& run) {
    return with_dtype_of_8_bits(run.request().dtype, [&]<class T>(T) { return launch_op<T>(run); });
}

} // namespace detreduce::cuda
