// Sums in a fixed order, of groups, and whatever else is merged in that order. It is that of
// SPEC.md, section 3, of the group's elements alone; what is absent takes no part.
#pragma once

#include <cstdint>

#include "sequence/kernels.cuh"
#include "sequence/words.cuh"
#include "groups/work_items.cuh"

namespace detreduce::cuda {

/// The lanes that a thread has of a group of at most one row of lanes: the K items from `first` on,
/// as far as they are there.
template <class Level>
__device__ __forceinline__ Lanes<typename Level::Acc, TileReader<Level>::K>
load_lanes(const typename Level::Pointer& group, std::uint64_t n, int first) {
    using Item = typename Level::Item;
    constexpr int K = TileReader<Level>::K;
    Lanes<typename Level::Acc, K> lanes;
    const std::int64_t remaining = static_cast<std::int64_t>(n) - first;
    if (remaining >= K) {
        const Pack<Item, K> pack = load_pack<Level::source, Item, K>(group + first);
#pragma unroll
        for (int k = 0; k < K; ++k)
            lanes.a[k] = Level::as_accumulator(item_at(pack, k));
    } else {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            lanes.a[k] = Level::Acc::identity();
            if (k < remaining) lanes.a[k] = Level::as_accumulator(load_item<Level::source>(group + first + k));
        }
    }
    return lanes;
}

/// A tile of m items by one warp, chunk by chunk. fold_one(c) folds chunk c, of `chunk` items but
/// for the last.
template <class Acc, int K, class FoldOne, class Merge>
__device__ __forceinline__ Lanes<Acc, K> fold_each_chunk(int m, int chunk, const FoldOne& fold_one,
                                                         const Merge& merge) {
    PendingTree<Lanes<Acc, K>> chunks;
    Lanes<Acc, K> lanes;
#pragma unroll 1
    for (int c = 0; c * chunk < m; ++c) {
        lanes = fold_one(c);
        chunks.take(c, lanes, m - c * chunk <= chunk, merge);
    }
    return lanes;
}

/// Lane j takes in lane j + half, for half = K·threads/2 … 1, where thread t has lanes t·K …; the
/// first of the threads has the result.
template <class Acc, int K>
__device__ __forceinline__ Acc combine_neighbouring_lanes(Lanes<Acc, K>& lanes, std::uint32_t threads) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        if (distance >= static_cast<int>(threads)) continue; // the same for all
#pragma unroll
        for (int k = 0; k < K; ++k)
            lanes.a[k].merge(shuffle_down(lanes.a[k], distance));
    }
    return combine_own_lanes(lanes.a);
}

/// Of a pair, `low` and `high`, one goes to the thread `distance` away, for the same part of that
/// thread's: what remains is the sum of both threads', of the lower part in the thread whose number
/// lacks the bit `distance`, of the upper part in the other.
template <class Acc, class Merge>
__device__ __forceinline__ Acc exchange(const Acc& low, const Acc& high, int distance, const Merge& merge) {
    const bool upper = threadIdx.x & distance;
    return meet(merge, choose(upper, high, low), shuffle_xor(choose(upper, low, high), distance), upper);
}

/// The same for a whole warp, in which half of the threads would soon do nothing useful: as long as
/// there are several lanes a thread, it gives half of them away to the thread that it meets, for
/// half of the other's. So lane number t·K + k ends up in another thread, but with its own
/// partners.
template <class Acc, int K, class Merges>
__device__ __forceinline__ Acc combine_lanes_of_warp(Lanes<Acc, K>& lanes, const Merges& merges) {
    int first = threadIdx.x % warp_size * K;
    each_half<K / 2>([&]<int Half>() {
        constexpr int distance = warp_size * Half / K, apart = warp_size * Half;
        const auto merge = merges.lanes(apart);
        first += threadIdx.x & distance ? Half : 0;
#pragma unroll
        for (int k = 0; k < Half; ++k)
            lanes.a[k] = exchange(lanes.a[k], lanes.a[k + Half], distance,
                                  [&](Acc& left, const Acc& right) { merge(left, right, (first + k) % apart); });
    });
#pragma unroll
    for (int rest = warp_size / (2 * K); rest >= 1; rest /= 2)
        merges.lanes(K * rest)(lanes.a[0], shuffle_down(lanes.a[0], rest), first % (K * rest));
        // What remains is to bring together the K lanes of the first thread of all, which are now
        // in as many threads.
#pragma unroll
    for (int half = K / 2, apart = warp_size / 2; half >= 1; half /= 2, apart /= 2)
        merges.lanes(half)(lanes.a[0], shuffle_down(lanes.a[0], apart), first % half);
    return lanes.a[0];
}

/// A group of m items, at most a tile, by a warp: to thread 0.
template <class Level>
__device__ __forceinline__ typename Level::Acc sum_by_warp(const typename Level::Pointer& group, int m) {
    using Acc = typename Level::Acc;
    using Reader = TileReader<Level>;
    constexpr int chunk = Level::Order::chunk;
    const Merges<Level> merges(m);
    const auto fold = [&](const auto& lane_of, const auto& fold_one) {
        return fold_each_chunk<Acc, Reader::K>(m, chunk, fold_one, [&](auto& left, const auto& right, int d, int c) {
            merges.chunks(left, right, d, c, lane_of);
        });
    };
    if constexpr (reads_words<Level>) {
        if (m == 0) return Acc::identity();
        const bool odd = is_upper_half(group.x);
        const auto lane_of = [=](int k) { return lane_of_number(k, odd); };
        auto lanes = fold(lane_of, [&](int c) {
            return fold_words<Level>(group.x + c * chunk, m - c * chunk,
                                     [&](int k) { return merges.rows(lane_of(k), c); });
        });
        return combine_words_of_warp(lanes, merges, odd);
    } else {
        const int first = threadIdx.x % warp_size * Reader::K;
        if (m <= static_cast<int>(Level::Order::lanes)) {
            auto lanes = load_lanes<Level>(group, m, first);
            return combine_lanes_of_warp(lanes, merges);
        }
        const auto p = group + first;
        auto lanes = fold([=](int k) { return first + k; },
                          [&](int c) {
                              const int remaining = m - c * chunk;
                              return remaining >= chunk ? Reader::fold_all(p + c * chunk)
                                                        : Reader::fold_some(p + c * chunk, remaining, first);
                          });
        return combine_lanes_of_warp(lanes, merges);
    }
}

/// Blocks on a multiprocessor.
template <class Level>
inline constexpr int group_blocks = (reads_words<Level> && sizeof(typename Level::Acc) == sizeof(float)
                                         ? policy::groups_by_words
                                         : policy::groups)
                                        .blocks;

/// Groups by a warp each: of more than a row of lanes and at most a tile, or segments. Large
/// segments go to `table`. A warp takes `batch` neighbours, at most 32, and each of its threads
/// keeps the sum of one: what comes at the end, a division or a rounding, is then done by all
/// threads at once.
template <class Level>
__global__ void __launch_bounds__(max_block, group_blocks<Level>)
    groups_kernel(const typename Level::Pointer x, const Groups groups, std::uint32_t batch, const Results results,
                  const WorkTable table) {
    using Acc = typename Level::Acc;
    using Value = typename Acc::Value;
    const int lane = threadIdx.x % warp_size;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    for (std::uint64_t base = (std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size) * batch;
         base < groups.count; base += warps * batch) {
        Acc mine = Acc::identity();
        // Where they are is asked once, by a thread each: offsets are read from memory, and nothing
        // else can be until they are here.
        const bool there = lane < static_cast<int>(batch) && base + lane < groups.count;
        const Span span_of_mine = there ? span_of(groups, base + lane) : Span{0, 0, true};
        std::uint32_t left_to_others = 0; // a bit for each group of the batch
#pragma unroll 1
        for (int i = 0; i < static_cast<int>(batch) && base + i < groups.count; ++i) {
            const Span span{shuffle_from(span_of_mine.begin, i), shuffle_from(span_of_mine.n, i), true};
            const bool fits = span.n <= Level::Order::tile;
            if (!fits && list_work_items(table, base + i, span)) {
                left_to_others |= 1u << i;
                continue;
            }
            const auto begin = x + static_cast<std::int64_t>(span.begin);
            const Acc sum = fits ? sum_by_warp<Level>(begin, static_cast<int>(span.n)) : Acc::identity();
            mine = choose(lane == i, shuffle_from(sum, 0), mine);
        }
        if (!there || (left_to_others >> lane & 1)) continue;
        if (span_of_mine.n == 0) mine = Level::of_nothing();
        if (!span_of_mine.valid || span_of_mine.n > Level::Order::tile)
            mine = Acc::of(fp::from_bits<Value>(fp::Format<Value>::canonical_nan));
        results.finish<typename Level::Result>(base + lane, mine, span_of_mine.n);
    }
}

/// Loads that a thread has in flight, and so rows that a warp reads before it adds up the first: of
/// up to `Steps` rows of lanes each.
template <int Steps>
inline constexpr int rows_in_flight = Steps == 1 ? 4 : 8 / Steps;

/// Blocks on a multiprocessor.
template <class Level, int Steps>
inline constexpr int short_row_blocks = (!Level::known_aligned || Level::Acc::keeps_errors ? policy::short_rows_of_any
                                         : Steps > 1 && fp::has_16_bits<typename Level::Item>
                                             ? policy::short_rows_in_steps
                                             : policy::short_rows)
                                            .blocks;

/// Rows of at most `Steps` rows of lanes: so short that a warp must have several in flight.
/// `threads` share one, a power of two and at most a warp, and they have a lane or more for each
/// element; a warp where there is more than one step. Where the rows are known to be aligned they
/// are of whole packs of K elements: loads that may go either way wait for one another, and take
/// registers.
template <class Level, int Steps>
__global__ void __launch_bounds__(max_block, short_row_blocks<Level, Steps>)
    short_rows_kernel(const typename Level::Pointer x, const Groups rows, std::uint32_t threads,
                      const Results results) {
    constexpr int K = TileReader<Level>::K, at_once = rows_in_flight<Steps>;
    using Acc = typename Level::Acc;
    static_assert(Steps == 1 || !Acc::pairwise_rows);
    const std::uint32_t in_warp = warp_size / threads, lane = threadIdx.x % warp_size;
    const int first = static_cast<int>(lane % threads) * K, remaining = static_cast<int>(rows.n) - first;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size),
                        warp = std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size;
    for (std::uint64_t begin = warp * in_warp * at_once; begin < rows.count; begin += warps * in_warp * at_once) {
        Pack<typename Level::Item, K> packs[at_once][Steps];
        const auto place = [&](std::uint32_t u) { return begin + u * in_warp + lane / threads; };
        // f(pack, where it is, how many of its elements are there) for all of them; what is absent
        // takes no part.
        const auto each = [&](const auto& f) {
#pragma unroll
            for (int u = 0; u < at_once; ++u) {
                const auto row = x + static_cast<std::int64_t>(place(u) * rows.stride) + first;
                const int there = place(u) < rows.count ? remaining : 0;
#pragma unroll
                for (int step = 0; step < Steps; ++step) {
                    constexpr int lanes = Level::Order::lanes;
                    f(packs[u][step], row + step * lanes, there - step * lanes);
                }
            }
        };
        if constexpr (Level::known_aligned) {
            each([](auto& pack, const auto& p, int there) {
                if (there > 0) {
                    pack = load_pack<Level::source, typename Level::Item, K>(p);
                } else {
#pragma unroll
                    for (int k = 0; k < K; ++k)
                        pack.v[k] = Level::identity();
                }
            });
        } else {
            each([](auto& pack, const auto& p, int there) {
#pragma unroll
                for (int k = 0; k < K; ++k)
                    pack.v[k] = k < there ? load_item<Level::source>(p + k) : Level::identity();
            });
        }
        Lanes<Acc, K> lanes[at_once];
#pragma unroll
        for (int u = 0; u < at_once; ++u) {
#pragma unroll
            for (int k = 0; k < K; ++k) {
                lanes[u].a[k] = Level::as_accumulator(item_at(packs[u][0], k));
#pragma unroll
                for (int step = 1; step < Steps; ++step)
                    Level::take(lanes[u].a[k], item_at(packs[u][step], k));
            }
        }
        // As long as there is more than one row, threads that meet share out rows and not lanes: at
        // the end nearly all have one to finish.
        std::uint32_t sharing = threads, first_row = 0;
        int remaining_rows = at_once;
#pragma unroll
        for (int half = at_once / 2; half >= 1; half /= 2) {
            if (sharing == 1) continue; // the same for all
            sharing /= 2;
#pragma unroll
            for (int u = 0; u < half; ++u) {
#pragma unroll
                for (int k = 0; k < K; ++k)
                    lanes[u].a[k] = exchange(lanes[u].a[k], lanes[u + half].a[k], sharing,
                                             [](Acc& left, const Acc& right) { left.merge(right); });
            }
            if (lane & sharing) first_row += half;
            remaining_rows = half;
        }
        Acc sums[at_once];
        sums[0] = combine_neighbouring_lanes(lanes[0], sharing); // there are more threads only where one row remains
#pragma unroll
        for (int u = 1; u < at_once; ++u)
            sums[u] = combine_own_lanes(lanes[u].a);
#pragma unroll 1
        for (int u = 0; u < remaining_rows; ++u) {
            const std::uint64_t row = place(first_row + u);
            if (row < rows.count && lane % sharing == 0) results.finish(row, sums[0], rows.n);
#pragma unroll
            for (int i = 0; i + 1 < at_once; ++i)
                sums[i] = sums[i + 1];
        }
    }
}

} // namespace detreduce::cuda
