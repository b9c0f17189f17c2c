// Sums of rows that lie one behind the other, as doubles, none of whose additions rounds. A warp
// takes memory as it lies, so that of short rows a thread has parts of several. To join them each
// exchange with another thread leaves it half as many rows, twice as much of each. For each batch
// of rows, a bit each says which remain for groups_kernel.
#pragma once

#include "multiset/exact/plain.cuh"

namespace detreduce::cuda::exact {

inline constexpr int plain_row_loads = 8; ///< of a thread, of 16 bytes each
static_assert(plain_row_loads * 16 * warp_size == policy::longest_short_plain_row);

/// A sum that is a double.
struct OneDouble {
    double sum = 0;
    static constexpr double error = 0;
    __device__ __forceinline__ void add(double x) { sum += x; }
    __device__ __forceinline__ void merge(const OneDouble& right) { sum += right.sum; }
};

/// Which threads have which rows of 64 · 2^k bytes, of which a warp loads up to 4 KiB at a time. A
/// row of up to 512 bytes is in one load, of 2^lanes_log neighbouring threads. A longer one is
/// 2^folds loads.
struct RowsAsLoaded {
    int lanes_log, folds, rows_log; ///< 2^rows_log rows are loaded at a time
    bool half;                      ///< by half of the loads, as no more than 32 rows are

    __device__ __forceinline__ explicit RowsAsLoaded(std::uint32_t bytes) {
        const int log = 31 - __clz(static_cast<int>(bytes));
        lanes_log = min(log - 4, 5);
        folds = max(log - 9, 0);
        half = log == 6;
        rows_log = half ? 5 : 12 - log;
    }
    /// Makes the first of parts the sum of a row: of number row_of().
    template <class Sum>
    __device__ __forceinline__ void join(Sum (&parts)[plain_row_loads]) const {
        int mask = 1;
        if (!half) halve<4>(parts, folds > 0, mask);
        halve<2>(parts, folds > 1, mask);
        halve<1>(parts, folds > 2, mask);
#pragma unroll 1
        for (; mask < 1 << lanes_log; mask *= 2)
            parts[0].merge(shuffle_xor(parts[0], mask));
    }
    /// The row whose sum a thread has, and the first thread that has that of a row.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t row_of(std::uint32_t thread) const {
        return (reversed(thread) << (5 - lanes_log)) + (thread >> lanes_log);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t thread_of(std::uint32_t row) const {
        const std::uint32_t load = row >> (5 - lanes_log), of_load = row - (load << (5 - lanes_log));
        return (of_load << lanes_log) + reversed(load);
    }

  private:
    /// Makes Count parts of twice as many: each is joined with its neighbour, which is of the same
    /// row, or the thread and another one keep half of the rows each.
    template <int Count, class Sum>
    static __device__ __forceinline__ void halve(Sum (&parts)[plain_row_loads], bool fold, int& mask) {
        if (fold) {
#pragma unroll
            for (int i = 0; i < Count; ++i) {
                Sum sum = parts[2 * i];
                sum.merge(parts[2 * i + 1]);
                parts[i] = sum;
            }
            return;
        }
        const bool upper = (threadIdx.x & static_cast<std::uint32_t>(mask)) != 0;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            Sum kept = parts[i], given = parts[i + Count];
            if (upper) {
                kept = parts[i + Count];
                given = parts[i];
            }
            kept.merge(shuffle_xor(given, mask));
            parts[i] = kept;
        }
        mask *= 2;
    }
    /// The lowest bits, as many as there are exchanges, in the opposite order.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t reversed(std::uint32_t x) const {
        const int exchanges = rows_log - (5 - lanes_log);
        return exchanges == 0 ? 0 : __brev(x) >> (32 - exchanges);
    }
};

/// How a warp sums rows up of a matrix without gaps that begins at 16 bytes: several at once, or,
/// if they are Long, one.
template <class Input, bool Long>
struct PlainRows {
    using T = typename Input::Type;
    using Plain = PlainSum<T, typename Input::MapType>;
    using Loaded = Vectors<plain_row_loads>;
    static constexpr policy::Kernel kernel = policy::plain_rows;
    RowsAsLoaded place;
    std::uint32_t n;
    int one_double, two_doubles; ///< binades that the elements may span
    std::uint32_t row, thread;   ///< whose sum the thread has in the end; which has that of row number `lane`
    bool has_row;                ///< and no thread before it has the same

    __device__ __forceinline__ explicit PlainRows(const Input& input)
        : place(static_cast<std::uint32_t>(input.n * sizeof(T))), n(static_cast<std::uint32_t>(input.n)),
          one_double(fp::is_f64<T> ? -1 : Plain::binades_of_one(n)), two_doubles(Plain::binades_of_two(n)),
          row(place.row_of(threadIdx.x % warp_size)), thread(place.thread_of(threadIdx.x % warp_size)),
          has_row(place.thread_of(row) == threadIdx.x % warp_size) {}

    /// As PlainGroups::sum_up(). Where fewer rows are there than are loaded at once, none is done.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t
    sum_up(const Input& input, const Finish& to, const GroupWork& work, std::uint64_t base, std::uint32_t) const {
        const std::uint32_t at_once = Long ? 1 : 1u << place.rows_log;
        std::uint32_t done = 0;
#pragma unroll 1
        for (std::uint32_t k = 0; k < work.batch && k + at_once <= work.groups.count - base; k += at_once) {
            const T* const mine = input.x + (base + k) * input.n + threadIdx.x % warp_size * Element<T>::per_vector;
            if constexpr (Long)
                done |= sum_up_long(mine, to, base + k) << k;
            else
                done |= sum_up_short(mine, to, base + k) << k;
        }
        return done;
    }

  private:
    [[nodiscard]] static __device__ __forceinline__ uint4 load(const T* mine, std::uint32_t number) {
        return load16<Source::aligned_input>(mine + number * (warp_size * Element<T>::per_vector));
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t sum_up_long(const T* mine, const Finish& to,
                                                                       std::uint64_t first) const {
        const std::uint32_t loads = n / (warp_size * Element<T>::per_vector);
        Plain sum;
#pragma unroll 1
        for (std::uint32_t at = 0; at < loads; at += plain_row_loads) {
            Loaded loaded;
#pragma unroll
            for (int i = 0; i < plain_row_loads; ++i)
                loaded.v[i] = at + i < loads ? load(mine, at + i) : uint4{};
            sum.template add<plain_row_loads>(loaded.v);
        }
        const bool done = sum.joined(warp_size, n).store(to.moved(first), n);
        return all_of_warp(done) ? 1 : 0;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t sum_up_short(const T* mine, const Finish& to,
                                                                        std::uint64_t first) const {
        Loaded loaded;
        Range range;
#pragma unroll
        for (int i = 0; i < plain_row_loads; ++i) {
            if (i < plain_row_loads / 2 || !place.half) loaded.v[i] = load(mine, i);
        }
#pragma unroll
        for (int i = 0; i < plain_row_loads; ++i) {
            if (i < plain_row_loads / 2 || !place.half) Element<T>::template look<false>(range, loaded.v[i]);
        }
        Element<T>::settle(range);
        const Exponents e = exponents_of<T>(range);
        if (!Plain::sums_are_finite(e)) return 0;
        if (e.high - e.low <= one_double) return finish<OneDouble>(loaded, to, first);
        if (e.high - e.low <= two_doubles) return finish<acc::Compensated<double>>(loaded, to, first);
        return 0;
    }
    template <class Sum>
    [[nodiscard]] __device__ __forceinline__ std::uint32_t finish(const Loaded& loaded, const Finish& to,
                                                                  std::uint64_t first) const {
        Sum parts[plain_row_loads]{};
#pragma unroll
        for (int i = 0; i < plain_row_loads; ++i) {
            if (i < plain_row_loads / 2 || !place.half)
                Element<T>::each_double(Plain::kept(loaded.v[i]), [&](double x) { parts[i].add(x); });
        }
        place.join(parts);
        const std::uint32_t threads = votes_of_warp(has_row && store(parts[0], to, first + row));
        return votes_of_warp((threads >> thread & 1) != 0) & ~0u >> (warp_size - (1 << place.rows_log));
    }
    template <class Sum>
    [[nodiscard]] __device__ __forceinline__ bool store(const Sum& part, const Finish& to, std::uint64_t row) const {
        if (part.sum == 0) return false; // of zeros alone it may be −0
        const double sum = part.sum * scale_of_moved<T>, error = part.error * scale_of_moved<T>;
        char* const out = static_cast<char*>(to.out) + row * to.bytes;
        if constexpr (fp::is_f64<T> || std::is_same_v<Sum, OneDouble>) {
            if (to.output == dtype_of<T> && to.finalize == Finalize::sum) {
                *reinterpret_cast<T*>(out) = rounded_to<T>(sum + error);
                return true;
            }
        }
        return store_doubles(out, to.output, sum, error, to.finalize, n);
    }
};

} // namespace detreduce::cuda::exact
