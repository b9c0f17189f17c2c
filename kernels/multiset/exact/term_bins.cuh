// Terms of `exact` (terms.cuh): where the elements are, and bins for their terms, with what must be
// known of the elements' exponents for a window to hold the terms.
#pragma once

#include <climits>

#include "multiset/exact/maps.hpp"
#include "multiset/exact/round.cuh"
#include "multiset/exact/walk.cuh"

namespace detreduce::cuda::exact {

/// Bins of the fast way. Terms of 16-bit elements are made in doubles, into which bits are moved:
/// often one bin is enough (TermBins::in_one_bin), and a term an instruction. Products of two bf16
/// go into floats, whose instructions take half the time; those of f16 span more than these hold.
template <class T, class Map>
using FirstWindow = std::conditional_t<
    fp::has_16_bits<T> && Map::linear, spec::ExactWindow<double, 1, 6>,
    std::conditional_t<std::is_same_v<T, bfloat16> && Map::transform == Transform::product,
                       spec::ExactWindow<float, 3, 4>, spec::ExactWindow<double, 2, fp::has_16_bits<T> ? 6 : 5>>>;
template <class T, class Map, class W>
struct TermBins;
template <class T, class SumWindow, class SquareWindow>
struct MomentBins;

/// Bins of window W for what Map adds up.
template <class T, class Map, class W>
struct BinsIn {
    using type = TermBins<T, Map, W>;
};
template <class T, class W>
struct BinsIn<T, Moments, W> { // one bin of double holds 38 binades of bf16, and all of f16
    static constexpr int log_adds = W::adds == 64 ? 6 : 5, bins = fp::is_narrow<T> && W::adds == 64 ? 1 : 2;
    using type = MomentBins<T, spec::ExactWindow<double, bins, log_adds>, W>;
};

/// Loads of 16 bytes a thread makes of each input for a tile, of small groups and where there is
/// much to read.
inline constexpr int short_tile = policy::exact_short_tile;
template <class T, class Map>
inline constexpr int long_tile = Map::inputs == 1 &&
                                         (is_moments<Map> ? !fp::is_f64<T> : Map::transform != Transform::element)
                                     ? policy::exact_long_tile
                                     : policy::exact_short_tile;

/// Where the elements of an input are: in memory, unless Map makes them.
template <class T, class Map>
struct ElementsOf {
    using Pointer = const T*;
};
/// p, so many elements of its group further on.
template <class T>
[[nodiscard]] __device__ __forceinline__ const T* moved(const T* p, std::uint64_t elements, std::uint64_t step) {
    return p + elements * step;
}

/// One or two inputs as tiles of warps, of V loads.
template <class T, class Map, int V = short_tile>
struct Terms {
    using Type = T;
    using Pointer = typename ElementsOf<T, Map>::Pointer;
    static constexpr bool in_memory = std::is_pointer_v<Pointer>;
    using MapType = Map;
    using FirstBins = typename BinsIn<T, Map, FirstWindow<T, Map>>::type;
    static constexpr bool binary = Map::inputs == 2;
    /// Products of doubles may leave the range of double.
    static constexpr bool has_errors = fp::is_f64<T> && !Map::linear;
    static constexpr int states = states_of<T, Map>;
    static constexpr int vectors = V;
    static constexpr int each = vectors * 16 / static_cast<int>(sizeof(T)); ///< elements a thread
    static constexpr std::uint64_t tile = std::uint64_t{each} * warp_size;
    using Mine = Vectors<vectors>;

    Pointer x, y;
    std::uint64_t n, step; ///< from one element to the next: columns are as far apart as the matrix is wide
    bool aligned;

    __host__ __device__ Terms(Pointer x_elements, Pointer y_elements, std::uint64_t count, std::uint64_t distance)
        : x(x_elements), y(y_elements), n(count), step(distance) {
        aligned = step == 1 && is_aligned<16>(x) && is_aligned<16>(y);
    }
    template <int Bytes>
    [[nodiscard]] static __host__ __device__ bool is_aligned(Pointer p) {
        if constexpr (in_memory) return reinterpret_cast<std::uintptr_t>(p) % Bytes == 0;
        return false;
    }
    [[nodiscard]] __host__ __device__ std::uint64_t full() const { return n / tile; }
    [[nodiscard]] std::uint64_t tasks() const { return full(); }
    [[nodiscard]] __host__ __device__ Terms part(std::uint64_t begin, std::uint64_t count) const {
        return {x + begin, Map::inputs == 2 ? y + begin : Pointer{}, count, step};
    }

    /// A full tile of one of the inputs.
    __device__ __forceinline__ Mine load(Pointer input, std::uint64_t at) const {
        constexpr int per_vector = 16 / sizeof(T);
        const std::uint64_t first = at * tile + threadIdx.x % warp_size * per_vector;
        Mine mine;
#pragma unroll
        for (int i = 0; i < vectors; ++i) { // a branch for each was faster than one for all
            const std::uint64_t begin = first + i * (warp_size * per_vector);
            mine.v[i] = aligned ? load_vector(input + begin) : gather(moved(input, begin, step));
        }
        return mine;
    }
    static __device__ __forceinline__ uint4 load_vector(Pointer p) {
        if constexpr (in_memory) return load16<Source::aligned_input>(p);
        return {};
    }
    /// As many elements as 16 bytes hold, one by one, as whole words: elements of 16 bits stay two
    /// in a register where the ways meet.
    __device__ __forceinline__ uint4 gather(Pointer p) const {
        if constexpr (fp::has_16_bits<T>) {
            std::uint32_t words[4];
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                words[w] = load_number(p + 2 * w * step).bits | std::uint32_t{load_number(p + (2 * w + 1) * step).bits}
                                                                    << 16;
            }
            return {words[0], words[1], words[2], words[3]};
        } else {
            return gather_some(p, step, 16 / sizeof(T));
        }
    }
    /// So many of them, one behind the other at this distance, and zeros.
    static __device__ __forceinline__ uint4 gather_some(Pointer p, std::uint64_t distance, int there) {
        T elements[16 / sizeof(T)];
#pragma unroll
        for (int k = 0; k < 16 / static_cast<int>(sizeof(T)); ++k, p = moved(p, 1, distance))
            elements[k] = k < there ? load_number(p) : T{};
        uint4 v;
        __builtin_memcpy(&v, elements, sizeof v);
        return v;
    }
    /// Puts what remains of an input behind the full tiles in shared memory, in their layout where
    /// it is whole vectors. Zeros, whose terms are +0, take the places of what is not there. Not
    /// inlined, so that it costs the loop over full tiles no registers.
    static __device__ __noinline__ void copy_rest(Pointer input, int remaining, std::uint64_t step, bool in_vectors,
                                                  uint4* to) {
        constexpr int per_vector = 16 / sizeof(T);
        const int lane = threadIdx.x % warp_size;
        for (int i = 0; i < vectors; ++i) {
            const int first = (i * warp_size + lane) * per_vector;
            uint4 v{};
            if (in_vectors) {
                if (first < remaining) v = load_vector(input + first);
            } else {
                T elements[per_vector];
#pragma unroll
                for (int k = 0; k < per_vector; ++k) { // neighbours in neighbouring threads
                    const int at = (i * per_vector + k) * warp_size + lane;
                    elements[k] = at < remaining ? load_number(moved(input, at, step)) : T{};
                }
                __builtin_memcpy(&v, elements, sizeof v);
            }
            to[i * warp_size + lane] = v;
        }
    }
    __device__ __forceinline__ Mine load_rest(Pointer input, uint4* room) const {
        const std::uint64_t begin = full() * tile;
        copy_rest(moved(input, begin, step), static_cast<int>(n - begin), step, rest_in_vectors(), room);
        return Mine::copied(room); // what the thread itself has put there
    }
    [[nodiscard]] __device__ __forceinline__ bool rest_in_vectors() const {
        return aligned && n % (16 / sizeof(T)) == 0;
    }
    /// Whether the thread's first element of this tile is there.
    [[nodiscard]] __device__ __forceinline__ bool has_first(std::uint64_t at) const {
        const std::uint64_t lane = threadIdx.x % warp_size;
        return at < full() || full() * tile + lane * (rest_in_vectors() ? 16 / sizeof(T) : 1) < n;
    }
};

/// Those of a run.
template <class Input>
[[nodiscard]] Input terms_of(const Run& run, std::uint64_t step) {
    using T = typename Input::Type;
    return {static_cast<const T*>(run.in.x), static_cast<const T*>(run.in.y), run.request().n, step};
}

template <class T, class Map, int V>
inline constexpr int
    blocks_at_once<Terms<T, Map, V>> = (Map::parts > 1 ? policy::exact_of_differences : policy::exact).blocks;

/// What of a product of two elements of T, or of one alone, may be other than zero: so many bits.
template <class T, class Map>
inline constexpr int significant_bits =
    Map::linear || fp::is_f64<T> ? fp::Format<T>::precision : 2 * fp::Format<T>::precision;

/// Exponents between which the elements of one input lie, as magnitudes that Element<T> compares.
template <class T>
struct Room {
    std::uint32_t above = 0, minimum_less_one = 0;
    using L = Limits<T, spec::ExactWindow<double, 2, 5>>;

    __device__ __forceinline__ bool holds(const Range& r) const {
        return r.largest < above && r.smallest_less_one >= minimum_less_one;
    }
    /// What both hold.
    [[nodiscard]] __device__ __forceinline__ Room with(const Room& other) const {
        Room room;
        room.above = min(above, other.above);
        room.minimum_less_one = max(minimum_less_one, other.minimum_less_one);
        return room;
    }
    /// For numbers from 2^low up to, but not including, 2^high. Of subnormals all or none.
    static __device__ __forceinline__ Room between(int low, int high) {
        constexpr int lowest = L::normal - (fp::Format<T>::precision - 1);
        Room room;
        room.above = L::magnitude_of(min(max(high, L::normal), L::infinity));
        room.minimum_less_one = low <= lowest ? 0 : L::magnitude_of(min(max(low, L::normal), L::infinity)) - 1;
        return room;
    }
};

/// The exponents of what a warp has of one input.
struct Exponents {
    static constexpr int infinite = INT_MAX;
    int low, high; ///< 2^low ≤ |x| < 2^high; 2^low is the smallest number if there are subnormals

    [[nodiscard]] __device__ __forceinline__ bool finite() const { return high != infinite; }
    [[nodiscard]] __device__ __forceinline__ Exponents with(const Exponents& other) const {
        return {min(low, other.low), max(high, other.high)};
    }
};
template <class T>
__device__ __forceinline__ Exponents exponents_between(std::uint32_t largest, std::uint32_t smallest_less_one) {
    using L = typename Room<T>::L;
    if (largest == 0) return {0, 0}; // zeros are anywhere
    const int high = largest < L::magnitude_of(L::infinity) ? L::exponent_of(largest) + 1 : Exponents::infinite;
    int low = smallest_less_one == 0xffffffffu ? high : L::exponent_of(smallest_less_one + 1);
    if (low <= L::normal) low = L::normal - (fp::Format<T>::precision - 1); // subnormals: any bit of theirs
    return {low, high};
}
/// Of all threads' elements.
template <class T>
__device__ __forceinline__ Exponents exponents_of(const Range& mine) {
    return exponents_between<T>(warp_max(mine.largest), warp_min(mine.smallest_less_one));
}

/// Bins of tiles that the first window does not hold.
using WideWindow = spec::ExactWindow<double, 7, 6>;
/// Bins of groups that the first window does not hold: 4 of them span 183 binades, 6 of them 275.
template <bool Linear>
using GroupWindow = spec::ExactWindow<double, policy::wide_bins<Linear>, 6>;

/// Where bins stand.
template <class T>
struct alignas(16) TermWindow {
    Room<T> room_x, room_y, one_bin;
    Exponents seen_x{}, seen_y{}; ///< of the elements that the window was made for
    int top = 0;                  ///< of the values
};

/// Bins of W for the terms of a tile.
template <class T, class Map, class W>
struct TermBins : TermWindow<T> {
    using Window = TermWindow<T>;
    using Window::room_x, Window::room_y, Window::one_bin, Window::seen_x, Window::seen_y, Window::top;
    using Number = decltype(W::anchor(0, 0));
    static_assert(fp::is_f64<Number> || !Terms<T, Map>::has_errors);
    static constexpr bool has_errors = Terms<T, Map>::has_errors;
    /// What the first bin leaves of a product is a double; in three, too, unless it is that of a
    /// difference, which a wider window need not make a double.
    static constexpr bool adds_products = fp::is_f64<Number> && !fp::is_f64<T> && !Map::linear &&
                                          (W::bins == 2 || (W::bins == 3 && !fp::has_16_bits<T> && Map::parts == 1));
    /// Terms that are multiples of the first bin's Q need not go through the others.
    static constexpr bool in_one_bin = adds_products && fp::has_16_bits<T> && W::adds == 64;
    /// Squares of 16-bit elements: their magnitudes become floats and, by moving bits, doubles. A
    /// zero becomes 2^moved_zero, whose square bins must be too coarse to see.
    static constexpr bool of_magnitudes = in_one_bin && Map::inputs == 1;
    static constexpr int moved_zero = -fp::Format<float>::max_exponent;
    /// Elements whose squared differences two bins hold differ by a double, and so do those whose
    /// differences one bin holds: a term is one addition, in the place of one a part.
    static constexpr bool by_difference = Map::parts > 1 &&
                                          (adds_products || (fp::is_f64<Number> && !fp::is_f64<T> && W::bins == 1));
    static constexpr int parts = by_difference ? 1 : Map::parts;
    static constexpr bool shared_room = Map::parts > 1 || Map::inputs == 1 || in_one_bin;
    /// Of −2xy; of a difference, which is below 2^(high + 1), its square is below 2^(2·high + 2).
    static constexpr int factor_bits = Map::parts > 2 ? 2 : Map::parts > 1 ? 1 : 0;
    /// Terms are smaller by 2^BinsOf::shift in the bin than they are.
    static constexpr bool moved = fp::has_16_bits<T> && Map::linear && W::bins == 1 && fp::is_f64<Number>;
    using BinsOf = Bins<std::conditional_t<moved, T, Number>, W>;
    /// The errors' bins are 52 below those of the values, which must still be numbers.
    static constexpr int to_errors = fp::Format<double>::precision - 1;
    /// Above the tile that a window is made for, terms seldom grow; below it there is always a
    /// smaller one.
    static constexpr int most_above = in_one_bin ? 2 : 8;
    static constexpr int lowest_top =
        of_magnitudes ? W::span + 2 * moved_zero + 4 : W::lowest_top + BinsOf::shift + (has_errors ? to_errors : 0);
    /// Products below this may have errors, or last bits, that are no numbers any more.
    static constexpr int minimum_term =
        fp::Format<Number>::min_exponent + (has_errors ? 2 * to_errors : significant_bits<T, Map>);
    static constexpr int adds = W::adds, span = W::span, count = has_errors ? 2 * W::bins : W::bins;
    static constexpr std::uint64_t most_held = W::most_held;                         ///< terms
    static constexpr int drains_between_flushes = fp::is_f64<Number> ? 32 : 1 << 20; // sums of 62 bits
    static constexpr std::uint32_t flushes_between_carries = 1u << 20;

    Word* words;
    BinsOf values, errors;
    Word held[W::bins] = {}, held_errors[has_errors ? W::bins : 1] = {};
    int added = 0, drains = 0;
    std::uint32_t flushes = 0;

    __device__ __forceinline__ explicit TermBins(Word* w = nullptr) : words(w) { reset(); }
    __device__ __forceinline__ int error_top() const { return top - (fp::Format<double>::precision - 1); }
    __device__ __forceinline__ void reset() {
        values.reset(top);
        if constexpr (has_errors) errors.reset(error_top());
        added = 0;
    }
    /// Of a thread's own bins, of no more than most_held terms.
    __device__ __forceinline__ void drain_own() {
#pragma unroll
        for (int k = 0; k < W::bins; ++k) {
            held[k] += values.read(top, k);
            if constexpr (has_errors) held_errors[k] += errors.read(error_top(), k);
        }
        reset();
    }
    __device__ __forceinline__ void drain() {
        drain_own();
        if (++drains == drains_between_flushes) flush();
    }
    /// Makes room for n more terms.
    __device__ __forceinline__ void reserve(int n) {
        if (added + n > adds) drain();
        added += n;
    }
    __device__ __forceinline__ void reserve_own(int n) {
        if (added + n > adds) drain_own();
        added += n;
    }
    [[nodiscard]] __device__ __forceinline__ Window window() const {
        return *this;
    }
    /// When there is nothing in them.
    __device__ __forceinline__ void set_window(const Window& w) {
        static_cast<Window&>(*this) = w;
        reset();
    }
    using Place = int;
    [[nodiscard]] __device__ __forceinline__ Place place() const {
        return top;
    }
    /// Adds x·y, of which what the first bin leaves is a double. If OneBin, it must be a multiple
    /// of the first bin's Q.
    template <bool OneBin>
    __device__ __forceinline__ void add_product(Number x, Number y) {
        if constexpr (has_errors) {
            const Number p = x * y;
            values.add(p);
            errors.add(fp::fused(x, y, -p));
        } else {
            static_assert(OneBin || W::bins > 1);
            const Number s = values.s[0], t = fp::fused(x, y, s);
            if constexpr (!OneBin) values.template add<1>(fp::fused(x, y, s - t));
            values.s[0] = t;
        }
    }
    /// Unit of sum number k, those of the errors after those of the values, where top is 0.
    [[nodiscard]] static __host__ __device__ constexpr int relative_unit(int k) {
        return k < W::bins ? W::unit(0, k) : W::unit(1 - fp::Format<double>::precision, k - W::bins);
    }
    [[nodiscard]] __device__ __forceinline__ Word& own_sum(int k) {
        return k < W::bins ? held[k] : held_errors[k - W::bins];
    }
    /// Adds low + 2^32·high, what there is of sum number k, to the words of a state, which no other
    /// thread has.
    __device__ __forceinline__ void deposit(Word* to, int k, Word low, Word high) const {
        acc::exact::deposit(to, low, top + relative_unit(k));
        acc::exact::deposit(to, high, top + relative_unit(k) + 32);
    }
    /// In a loop, in which sums move to the place of the first one: there are many of these.
    __device__ __forceinline__ void flush() {
#pragma unroll 1
        for (int k = 0; k < count; ++k) {
            warp_deposit_sum(words, held[0], top + relative_unit(k));
#pragma unroll
            for (int i = 0; i < count; ++i)
                own_sum(i) = i + 1 < count ? own_sum(i + 1) : 0;
        }
        drains = 0;
        if (++flushes % flushes_between_carries == 0) warp_carry(words);
    }
    __device__ __forceinline__ void flush_all() {
        if (added == 0 && drains == 0) return;
        drain_own();
        flush();
    }
    /// Forgets what is in it.
    __device__ __forceinline__ void drop() {
#pragma unroll
        for (int k = 0; k < count; ++k)
            own_sum(k) = 0;
        drains = 0;
        reset();
    }

    __device__ __forceinline__ bool holds(const Range& x, const Range& y) const {
        return room_x.holds(x) && (shared_room || room_y.holds(y));
    }

    /// Moves the window to where elements of these ranges have their terms, and, if it can, those
    /// that it was moved for before: so it soon comes to rest. False if there is no such place.
    __device__ __forceinline__ bool move(const Range& x, const Range& y) {
        const Exponents a = exponents_of<T>(x), b = shared_room ? a : exponents_of<T>(y);
        if (!a.finite() || !b.finite()) return false;
        if (room_x.above != 0 && move_to(a.with(seen_x), b.with(seen_y))) return true;
        return move_to(a, b);
    }
    __device__ __forceinline__ bool move_to(const Exponents& a, const Exponents& b, int room_above = most_above) {
        constexpr int times = Map::linear ? 1 : 2; // elements in a term
        constexpr int normal = Room<T>::L::normal; // of whose last bit subnormals are multiples
        const int high = (Map::linear ? a.high : a.high + b.high) + factor_bits,
                  low = Map::linear ? max(a.low, normal) : a.low + b.low;
        const int spare = W::span - significant_bits<T, Map> + 1 - (high - low);
        if (spare < 0) return false;
        const int new_top = min(max(high + min(spare / 2, room_above), lowest_top), W::highest_top);
        const int minimum = max(new_top - W::span + significant_bits<T, Map> - 1, minimum_term);
        if (high > new_top || low < minimum) return false;
        const int up = (new_top - high) / times, down = (low - minimum) / times; // of the elements of each input
        flush_all();
        seen_x = a;
        seen_y = b;
        top = new_top;
        const bool all_subnormals = Map::linear && minimum <= normal;
        room_x = Room<T>::between(all_subnormals ? INT_MIN : a.low - down, a.high + up);
        room_y = Room<T>::between(all_subnormals ? INT_MIN : b.low - down, b.high + up);
        if constexpr (in_one_bin) {
            const int minimum_in_one = max(new_top - W::first_step + significant_bits<T, Map> - 1, minimum_term);
            const int below = (low - minimum_in_one) >> 1; // rounded down where it is negative
            one_bin = Room<T>::between(a.low - below, a.high + up);
        }
        reset();
        return true;
    }
};

} // namespace detreduce::cuda::exact
