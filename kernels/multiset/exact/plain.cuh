// Sums of groups as two doubles, and no bins: of elements that lie so close together that nothing
// is rounded. That takes few registers, so that many warps wait for memory at once. A bit each says
// which groups remain for groups_kernel.
#pragma once

#include <detreduce/acc/two_fold.hpp>

#include "multiset/exact/lanes.cuh"

namespace detreduce::cuda::exact {

/// The sum of elements, or of their magnitudes, in the place of bins, as `compensated` has it: a
/// double, and another for what TwoSum loses.
template <class T, class Map>
struct PlainSum {
    static constexpr bool without_bins = true;
    static constexpr int parts = 1, per_load = Element<T>::per_vector;
    static constexpr int most_log = 27;
    static constexpr std::uint64_t most_held = std::uint64_t{1} << most_log; ///< elements of a group

    /// So many binades may the n elements of a group span. n additions lose at most
    /// 2^-53 · n · 2^high each, all of it multiples of 2^(low − precision + 1): together that is a
    /// double.
    [[nodiscard]] static __device__ __forceinline__ int binades_of_two(std::uint32_t n) {
        return 2 * fp::Format<double>::precision + 1 - fp::Format<T>::precision - 2 * log_above(n);
    }
    [[nodiscard]] static __device__ __forceinline__ int binades(std::uint32_t n) {
        return together ? min(binades_of_two(n), of_load) : binades_of_two(n);
    }
    /// So many may the elements of a load span that are first added up to a double: 28 of f32, 43
    /// of bf16, and 40 of f16, which has no more. Of 16 bits nobody asks before.
    static constexpr int of_load = spec::plain_binades<T>(per_load);
    static constexpr bool together = fp::has_16_bits<T>;
    /// The same where the first double alone is exact.
    [[nodiscard]] static __device__ __forceinline__ int binades_of_one(std::uint32_t n) {
        return spec::plain_binades<T>(1) - log_above(n);
    }
    [[nodiscard]] static __device__ __forceinline__ int log_above(std::uint32_t n) {
        return n > 1 ? 32 - __clz(static_cast<int>(n - 1)) : 0;
    }

    acc::Compensated<double> sum{0, 0};
    Range range; ///< of 16 bits not settled

    /// Adds some loads; those of one first to each other, where that is a double. The whole warp
    /// calls this.
    template <int Loads>
    __device__ __forceinline__ void add(const uint4* v) {
#pragma unroll
        for (int i = 0; i < Loads; ++i)
            Element<T>::template look<false>(range, v[i]);
        const bool as_loads = together || (of_load > 0 && all_of_warp(settled().spans_at_most(of_load)));
#pragma unroll
        for (int i = 0; i < Loads; ++i) {
            const uint4 here = kept(v[i]);
            if (as_loads) {
                double part[2] = {0, 0};
                int k = 0;
                Element<T>::each_double(here, [&](double x) { part[k++ % 2] += x; });
                sum.add(part[0] + part[1]);
            } else {
                Element<T>::each_double(here, [&](double x) { sum.add(x); });
            }
        }
    }
    [[nodiscard]] static __device__ __forceinline__ uint4 kept(const uint4& v) {
        return seen<T, Map::transform == Transform::magnitude>(v);
    }
    [[nodiscard]] __device__ __forceinline__ PlainSum settled() const {
        PlainSum all = *this;
        Element<T>::settle(all.range);
        return all;
    }
    /// That of so many neighbouring threads, of at most n elements; all of them have it.
    [[nodiscard]] __device__ __forceinline__ PlainSum joined(int threads, std::uint32_t n) const {
        PlainSum all = settled();
#pragma unroll 1
        for (int mask = 1; mask < threads; mask *= 2) {
            all.range.largest = max(all.range.largest, shuffle_xor(all.range.largest, mask));
            all.range.smallest_less_one =
                min(all.range.smallest_less_one, shuffle_xor(all.range.smallest_less_one, mask));
        }
        if (all_of_warp(all.spans_at_most(binades_of_one(n)))) {
#pragma unroll 1
            for (int mask = 1; mask < threads; mask *= 2)
                all.sum.sum += shuffle_xor(all.sum.sum, mask);
            return all;
        }
#pragma unroll 1
        for (int mask = 1; mask < threads; mask *= 2)
            all.sum.merge(shuffle_xor(all.sum, mask));
        return all;
    }
    [[nodiscard]] __device__ __forceinline__ bool spans_at_most(int most) const {
        const Exponents e = exponents_between<T>(range.largest, range.smallest_less_one);
        return sums_are_finite(e) && e.high - e.low <= most;
    }
    /// Is no sum of most_held such elements beyond the doubles?
    [[nodiscard]] static __device__ __forceinline__ bool sums_are_finite(const Exponents& e) {
        return e.finite() && (!fp::is_f64<T> || e.high < fp::Format<double>::max_exponent - most_log);
    }
    /// Writes what `to` makes of the sum of n elements; false if that is not known: of zeros alone
    /// it may be −0.
    [[nodiscard]] __device__ __forceinline__ bool store(const Finish& to, std::uint32_t n) const {
        return range.largest != 0 && spans_at_most(binades(n)) &&
               store_doubles(to.out, to.output, sum.sum * scale_of_moved<T>, sum.error * scale_of_moved<T>, to.finalize,
                             n);
    }
};

/// Σx and Σx² in the place of bins, as two doubles each. Squares of 16-bit elements are added up to
/// a double before, and no addition rounds. Those of f32 and f64 are added one after the other,
/// each with what its addition loses, and a bound says how much is lost of that.
template <class T>
struct PlainMoments {
    using Sum = PlainSum<T, transforms::Element>;
    using Limits = typename Room<T>::L;
    static constexpr bool without_bins = true;
    static constexpr int parts = 1, precision = fp::Format<T>::precision;
    static constexpr std::uint64_t most_held = Sum::most_held;
    static constexpr bool of_16_bits = fp::has_16_bits<T>;
    static constexpr int most_exponent = 480; ///< of f64, whose squares are doubles with room to spare

    acc::Compensated<double> sum{0, 0}, squares{0, 0};
    /// Σx² of f32 and f64 is larger by this, at least the largest square: so it takes two
    /// operations to know what is lost.
    double offset = 0;
    Range range;                 ///< of 16 bits not settled
    std::uint32_t most = 0;      ///< upper half of the largest Σx² of a thread, with its offset; 0: nothing is known
    bool exact_in_thread = true; ///< Σx of each thread

    template <int Loads>
    __device__ __forceinline__ void add(const uint4* v) {
#pragma unroll
        for (int i = 0; i < Loads; ++i)
            Element<T>::template look<false>(range, v[i]);
        if constexpr (of_16_bits) {
            add_together<Loads>(v);
        } else {
            make_room();
#pragma unroll
            for (int i = 0; i < Loads; ++i)
                Element<T>::each_double(v[i], [&](double x) {
                    if constexpr (fp::is_f64<T>) {
                        sum.add(x);
                    } else {
                        sum.sum += x;
                    }
                    const double s = fp::fused(x, x, squares.sum);
                    squares.error += fp::fused(x, x, squares.sum - s);
                    squares.sum = s;
                });
        }
    }
    /// As PlainSum::joined().
    [[nodiscard]] __device__ __forceinline__ PlainMoments joined(int threads, std::uint32_t n) const {
        PlainMoments all = *this;
        Element<T>::settle(all.range);
        all.most = upper_half(squares.sum);
        if constexpr (!of_16_bits) all.squares.add(-offset);
#pragma unroll 1
        for (int mask = 1; mask < threads; mask *= 2) {
            all.range.smallest_less_one =
                min(all.range.smallest_less_one, shuffle_xor(all.range.smallest_less_one, mask));
            all.most = max(all.most, shuffle_xor(all.most, mask));
        }
        const int span = all.high() - all.low();
        if (fp::is_f64<T> && all.low() < -most_exponent) all.most = 0;
        all.exact_in_thread = span <= Sum::binades_of_one(n / threads + Sum::per_load);
        if (!fp::is_f64<T> && all_of_warp(span <= Sum::binades_of_one(n))) {
#pragma unroll 1
            for (int mask = 1; mask < threads; mask *= 2) {
                all.sum.sum += shuffle_xor(all.sum.sum, mask);
                all.squares.merge(shuffle_xor(all.squares, mask));
            }
            return all;
        }
#pragma unroll 1
        for (int mask = 1; mask < threads; mask *= 2) {
            all.sum.merge(shuffle_xor(all.sum, mask));
            all.squares.merge(shuffle_xor(all.squares, mask));
        }
        return all;
    }
    /// Writes what `to` wants of n elements; false if the sums do not say it, as of equal elements.
    /// Each of fewer than n + 2048 additions loses at most 2^-53 of the largest Σx². These losses
    /// are added up, and each such addition loses at most 2^-53 of their sum. The same holds for Σx
    /// of f64.
    [[nodiscard]] __device__ __forceinline__ bool store(const Finish& to, std::uint32_t n) const {
        const double additions = n + 2048.0, lost_of_lost = additions * additions * 0x1p-106,
                     magnitudes = n * power_of_two(min(high(), 512)),
                     lost = exact_in_thread ? 0x1p-98
                            : fp::is_f64<T> ? lost_of_lost
                                            : n * 0x1p-53;
        return most != 0 && store_moments({sum.sum, sum.error, magnitudes * lost},
                                          {squares.sum, squares.error,
                                           __hiloint2double(static_cast<int>(most) + 1, 0) * lost_of_lost},
                                          0, n, to);
    }

  private:
    [[nodiscard]] static __device__ __forceinline__ std::uint32_t upper_half(double x) {
        return static_cast<std::uint32_t>(__double2hiint(x));
    }
    /// Elements are below 2^high, as no square is larger than Σx² of its thread.
    [[nodiscard]] __device__ __forceinline__ int high() const {
        return (static_cast<int>(most >> 20) - 1021) >> 1;
    }
    /// All but zeros are from 2^low on; subnormals have any bit of theirs.
    [[nodiscard]] __device__ __forceinline__ int low() const {
        if (range.smallest_less_one == 0xffffffffu) return high();
        const int low = Limits::exponent_of(range.smallest_less_one + 1);
        return low > Limits::normal ? low : Limits::normal - (precision - 1);
    }

    /// Of 16 bits, by way of float: of what a multiprocessor does, conversions are what it has most
    /// time for.
    template <class F>
    static __device__ __forceinline__ void each(const uint4& v, const F& f) {
        Element<T>::each(v, [&](float x) { f(static_cast<double>(x)); });
    }
    /// Upper half of a double: sums of squares of the thread's elements are doubles below that.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t limit_of_exact() const {
        const std::uint32_t both = range.smallest_less_one, smallest = min(both & 0xffffu, both >> 16) + 1;
        const int low = static_cast<int>(smallest >> (precision - 1)) - fp::Format<T>::max_exponent,
                  unit = 2 * (max(low, Limits::normal) - (precision - 1)); // of squares
        return static_cast<std::uint32_t>(unit + 53 + 1023) << 20;
    }
    template <int Loads>
    __device__ __forceinline__ void add_together(const uint4* v) {
        double part = 0, square = 0;
#pragma unroll
        for (int i = 0; i < Loads; ++i) {
            double part_of[2] = {0, 0}, square_of[2] = {0, 0};
            int k = 0;
            each(v[i], [&](double x) {
                part_of[k % 2] += x;
                square_of[k % 2] = fp::fused(x, x, square_of[k % 2]);
                ++k;
            });
            part += part_of[0] + part_of[1];
            square += square_of[0] + square_of[1];
        }
        sum.sum += part;
        if (upper_half(square) < limit_of_exact()) {
            squares.add(square);
        } else {
#pragma unroll
            for (int i = 0; i < Loads; ++i)
                each(v[i], [&](double x) { squares.add(x * x); });
        }
    }
    /// Makes Σx² of f32 and f64 at least the square of each element, or NaN.
    __device__ __forceinline__ void make_room() {
        const int field = static_cast<int>(range.largest >> Element<T>::fraction_bits), // of the exponent
            exponent = field - fp::Format<T>::max_exponent + 1;
        const double bound =
            range.largest == 0 ? 0 : power_of_two(2 * max(min(exponent, most_exponent), -most_exponent));
        constexpr double infinity = fp::from_bits<double>(fp::infinity_bits<double>);
        if (fp::is_f64<T> && exponent > most_exponent) squares.sum = infinity; // then additions give NaN
        if (squares.sum >= bound) return;
        const auto s = fp::fast_two_sum(bound, squares.sum), o = fp::fast_two_sum(bound, offset);
        squares = {s.value, squares.error + s.error};
        offset = o.value;
        if (o.error != 0) squares.sum = infinity;
    }
};

/// What plain.cuh has in the place of bins.
template <class Input>
using PlainOf = std::conditional_t<is_moments<typename Input::MapType>, PlainMoments<typename Input::Type>,
                                   PlainSum<typename Input::Type, typename Input::MapType>>;

/// How a warp sums groups up that may begin and end anywhere: some threads each.
template <class Input>
struct PlainGroups {
    using Sum = PlainOf<Input>;
    using Sums = LaneSums<Input, Sum>;
    static constexpr policy::Kernel kernel = !is_moments<typename Input::MapType>    ? policy::plain_groups
                                             : fp::has_16_bits<typename Input::Type> ? policy::plain_moments_of_16_bits
                                                                                     : policy::plain_moments;
    __device__ __forceinline__ explicit PlainGroups(const Input&) {}

    /// Those of the batch at `base`, `all` of which are there: a bit for each that is done.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t sum_up(const Input& input, const Finish& finish,
                                                                  const GroupWork& work, std::uint64_t base,
                                                                  std::uint32_t all) const {
        const std::uint32_t lane = threadIdx.x % warp_size;
        const bool mine = (all >> lane & 1) != 0;
        Span span{0, 0, true};
        if (mine) span = span_of(work.groups, base + lane);
        if (span.n > work.table.length) span = {0, 0, true};
        Sum sum;
        Sums sums{input};
        const bool summed = sums.set_group(span, work.end, work.dense);
        sums.sum_up(sum, work.batch);
        const std::uint32_t group = sums.lane_group();
        const auto n = static_cast<std::uint32_t>(shuffle_from(static_cast<std::uint32_t>(span.n), group));
        const bool done = (votes_of_warp(summed) >> group & 1) != 0 && sums.mine.store(finish.moved(base + group), n);
        const std::uint32_t stored = votes_of_warp(done);
        return votes_of_warp(mine && (stored >> sums.thread_of(lane) & 1) != 0);
    }
};

/// Groups as far as their sums are doubles; for each batch, a bit for each group that remains. A
/// warp that has done less than half of a batch does nothing to the next ones.
template <class Input, class Way>
__global__ void __launch_bounds__(Way::kernel.threads, policy::blocks_that_fit(Way::kernel.blocks, Way::kernel.threads))
    plain_kernel(const __grid_constant__ Input input, const Finish finish, const __grid_constant__ GroupWork work) {
    constexpr int warps = Way::kernel.threads / warp_size;
    const Way way(input);
    int left_alone = 0; ///< batches
    for (std::uint64_t number = std::uint64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
         number << work.batch_log < work.groups.count; number += std::uint64_t{gridDim.x} * warps) {
        const std::uint64_t base = number << work.batch_log;
        const std::uint32_t all = ~0u >> (warp_size - min(work.groups.count - base, std::uint64_t{work.batch}));
        std::uint32_t done = 0;
        if (left_alone > 0) {
            --left_alone;
        } else {
            done = way.sum_up(input, finish, work, base, all);
            if (2 * __popc(done) < __popc(all)) left_alone = policy::plain_batches_left;
        }
        if (threadIdx.x % warp_size == 0) work.left[number] = all & ~done;
    }
}

} // namespace detreduce::cuda::exact
