// Mean and variance by `tree` (lib/SPEC.md, section 12), of arrays and rows: a tile by a block of 8
// warps, a chunk a warp, as sequence/tile.cuh has it. Where a chunk is full, and its items are
// equally large, the weights are known beforehand and merging takes five instructions; elsewhere
// the numbers of elements follow from where an item lies, and merging divides: that is one tile a
// level, and short rows.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/acc/moments.hpp>
#include <detreduce/spec/tile_counts.hpp>

#include "sequence/words.cuh"

namespace detreduce::cuda::moment_kernels {

inline constexpr int block_warps = spec::chunks_per_tile, block_threads = block_warps * warp_size;

// The rows of a lane of elements: a binary tree of groups whose sizes are known, so that merging
// them takes no division.

/// Merges neighbours of a[0 … Count − 1] as a binary tree, each of `each` elements.
template <int Count, class V>
__device__ __forceinline__ acc::Moments<V> merge_equal(acc::Moments<V> (&a)[Count], V each) {
    each_neighbours<Count>(
        [&](int i, int step) { a[i].merge(a[i + step], acc::Weights<V>::equal(each * static_cast<V>(step))); });
    return a[0];
}

/// Merges neighbours of Step rows each, as far as the first `there` go, which are at least
/// `Minimum`.
template <int Step, int Minimum, int Rows, class V>
__device__ __forceinline__ void merge_first(acc::Moments<V> (&row)[Rows], int there) {
    using Weights = acc::Weights<V>;
    constexpr Weights one = Weights::of(Step, 1), two = Weights::of(Step, 2), three = Weights::of(Step, 3),
                      all = Weights::equal(V(Step));
#pragma unroll
    for (int r = 0; r < Rows; r += 2 * Step) {
        if (r + 2 * Step <= Minimum) {
            row[r].merge(row[r + Step], all);
            continue;
        }
        const int right = there - r - Step; // or more than there are
        const auto of_right = [right](V of_one, V of_two, V of_three, V of_all) {
            if constexpr (Step == 1) return of_all;
            if constexpr (Step == 2) return right > 1 ? of_all : of_one;
            return right > 3 ? of_all : right == 1 ? of_one : right == 2 ? of_two : of_three;
        };
        const Weights weights{of_right(one.right, two.right, three.right, all.right),
                              of_right(one.cross, two.cross, three.cross, all.cross)};
        if (right > 0) row[r].merge(row[r + Step], weights);
    }
}

/// The first `there` of a lane's rows, each an element, which are at least `Minimum`.
template <int Minimum = 0, int Rows, class V>
__device__ __forceinline__ acc::Moments<V> fold_first(acc::Moments<V> (&row)[Rows], int there) {
    static_assert(Rows == 4 || Rows == 8);
    if constexpr (Minimum >= Rows) return merge_equal(row, V(1));
    merge_first<1, Minimum>(row, there);
    merge_first<2, Minimum>(row, there);
    if constexpr (Rows > 4) merge_first<4, Minimum>(row, there);
    return row[0];
}

/// Elements of the input as items.
template <class T, bool Aligned>
struct Elements {
    using Item = T;
    using V = fp::Arithmetic<T>;
    using Acc = acc::Moments<V>;
    using Items = ItemOf<T, 1, Aligned ? Alignment::known : fp::is_narrow<T> ? Alignment::never : Alignment::seen>;
    using Pointer = typename Items::Pointer;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& x) {
        return Acc::of(widen(x));
    }
};

/// Results of tiles as items.
template <class Value>
struct Partials {
    using V = Value;
    using Acc = acc::Moments<V>;
    using Item = Acc;
    using Pointer = const Acc*;
    using Order = spec::TreeOrder<sizeof(V)>;
    static constexpr Source source = Source::partials;
    static __device__ __forceinline__ Acc as_accumulator(const Acc& x) { return x; }
};

/// a of n1 elements and b of n2, which may be absent. Not inlined: it is much code, for few items.
template <class V>
__device__ __noinline__ acc::Moments<V> merged(acc::Moments<V> a, acc::Moments<V> b, std::uint64_t n1,
                                               std::uint64_t n2) {
    if (n2 == 0) return a;
    a.merge(b, n1 == n2 ? acc::Weights<V>::equal(static_cast<V>(n1)) : acc::Weights<V>::of(n1, n2));
    return a;
}

/// combine_lanes() of sequence/tile.cuh, but merged as lanes_at(half) says: merge(left, right, j),
/// as Merges::lanes() has it.
template <int K, class Acc, class LanesAt>
__device__ __forceinline__ Acc combine_lanes(Acc (&a)[K], const LanesAt& lanes_at) {
    const std::uint32_t thread = threadIdx.x % warp_size;
#pragma unroll
    for (int half = K / 2; half >= 1; half /= 2) {
        const auto merge = lanes_at(warp_size * half);
#pragma unroll
        for (int k = 0; k < half; ++k)
            merge(a[k], a[k + half], thread + warp_size * k);
    }
#pragma unroll
    for (int half = warp_size / 2; half >= 1; half /= 2)
        lanes_at(half)(a[0], shuffle_down(a[0], half), thread);
    return a[0];
}

template <class Items>
struct Tile {
    using V = typename Items::V;
    using Acc = typename Items::Acc;
    using Item = typename Items::Item;
    using Order = typename Items::Order;
    using Pointer = typename Items::Pointer;
    using Counts = spec::TileCounts<Order::lanes>;
    static constexpr int K = Order::lanes / warp_size, rows = spec::rows_per_chunk;
    static constexpr bool of_elements = !std::is_same_v<Item, Acc>;

    /// Every lane of each warp's chunk, chunk by chunk. Means and M2 apart, so that neighbouring
    /// threads meet different banks, 16 bytes at a time as well.
    struct Buffer {
        struct Chunk {
            alignas(16) V mean[Order::lanes];
            alignas(16) V m2[Order::lanes];
        } chunks[block_warps];

        [[nodiscard]] __device__ __forceinline__ Acc get(std::uint32_t chunk, std::uint32_t j) const {
            return {chunks[chunk].mean[j], chunks[chunk].m2[j]};
        }
        __device__ __forceinline__ void put(std::uint32_t chunk, std::uint32_t j, const Acc& a) {
            chunks[chunk].mean[j] = a.mean;
            chunks[chunk].m2[j] = a.m2;
        }
        /// Lanes j, j + 1, …, `Count` of them that lie on 16 bytes.
        template <int Count>
        __device__ __forceinline__ void put(std::uint32_t chunk, std::uint32_t j, const Pack<V, Count>& means,
                                            const Pack<V, Count>& m2s) {
            *reinterpret_cast<Pack<V, Count>*>(&chunks[chunk].mean[j]) = means;
            *reinterpret_cast<Pack<V, Count>*>(&chunks[chunk].m2[j]) = m2s;
        }
        /// As many as 16 bytes hold.
        static constexpr int together = 16 / sizeof(V);
        __device__ __forceinline__ void put(std::uint32_t chunk, std::uint32_t j, const Acc (&a)[together]) {
            put(chunk, j, pack_of<V, together>([&](int i) { return a[i].mean; }),
                pack_of<V, together>([&](int i) { return a[i].m2; }));
        }
    };

    Pointer items;
    Counts counts;
    Buffer& buffer;

    /// Are all groups as large as those that they are merged with? So they are where there are 1,
    /// 2, 4 or 8 full chunks.
    [[nodiscard]] __device__ __forceinline__ bool regular() const {
        const std::uint32_t chunks = counts.m / Order::chunk;
        return counts.m % Order::chunk == 0 && (chunks & (chunks - 1)) == 0 && counts.missing == 0;
    }
    /// Has this chunk an item?
    [[nodiscard]] __device__ __forceinline__ bool there(std::uint32_t chunk) const {
        return chunk * Order::chunk < counts.m;
    }
    /// regular() of a chunk.
    [[nodiscard]] __device__ __forceinline__ bool regular_chunk(std::uint32_t chunk) const {
        const std::uint32_t end = (chunk + 1) * Order::chunk;
        return end < counts.m || (end == counts.m && counts.missing == 0);
    }

    /// Elements of an item, which of the input is known beforehand.
    [[nodiscard]] __device__ __forceinline__ V unit() const { return of_elements ? V(1) : static_cast<V>(counts.unit); }

    __device__ __forceinline__ void fold_regular(std::uint32_t chunk) const {
        const int first_lane = threadIdx.x % warp_size * K;
        const Pointer p = items + (chunk * Order::chunk + first_lane);
        Pack<Item, K> packs[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r)
            packs[r] = load_pack<Items::source, Item, K>(p + r * Order::lanes);
        Pack<V, K> means, m2s;
#pragma unroll
        for (int k = 0; k < K; ++k) {
            Acc row[rows];
#pragma unroll
            for (int r = 0; r < rows; ++r)
                row[r] = Items::as_accumulator(packs[r].v[k]);
            const Acc lane = merge_equal(row, unit());
            means.v[k] = lane.mean;
            m2s.v[k] = lane.m2;
        }
        buffer.put(chunk, first_lane, means, m2s);
    }
    /// A chunk with items that are not there, or with the last one.
    __device__ __forceinline__ void fold_irregular(std::uint32_t chunk) const {
        const std::uint32_t begin = chunk * Order::chunk, remaining = counts.m - begin;
#pragma unroll(of_elements ? 4 : 1)
        for (std::uint32_t j = threadIdx.x % warp_size; j < Order::lanes; j += warp_size) {
            Acc row[rows];
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                row[r] = Acc{};
                if (r * Order::lanes + j < remaining)
                    row[r] = Items::as_accumulator(load_item<Items::source>(items + (begin + r * Order::lanes + j)));
            }
            if constexpr (of_elements) {
                const std::uint32_t there = remaining > j ? (remaining - j - 1) / Order::lanes + 1 : 0;
                buffer.put(chunk, j, fold_first(row, static_cast<int>(there < rows ? there : rows)));
            } else {
                buffer.put(chunk, j, fold_groups(row, chunk * rows, (remaining - 1) / Order::lanes + 1, j));
            }
        }
    }
    /// Lane j, of groups of which one may be smaller, in the first `there` rows from first_row on.
    [[nodiscard]] __device__ __forceinline__ Acc fold_groups(Acc (&row)[rows], std::uint32_t first_row,
                                                             std::uint32_t there, std::uint32_t j) const {
        each_neighbours<rows>([&](int r, int step) {
            if (r + step >= there) return;
            const std::uint32_t at = first_row + r;
            row[r] = merged(row[r], row[r + step], counts.in_rows(j, at, at + step),
                            counts.in_rows(j, at + step, at + 2 * step));
        });
        return row[0];
    }

    /// Lane j of the block's chunks.
    [[nodiscard]] __device__ __forceinline__ Acc merge_chunks(std::uint32_t j) const {
        Acc parts[block_warps];
#pragma unroll
        for (int c = 0; c < block_warps; ++c)
            parts[c] = buffer.get(c, j);
        const bool even = regular();
#pragma unroll
        for (int step = 1; step < block_warps; step *= 2) {
            if (!there(step)) break;
            const auto weights = acc::Weights<V>::equal(unit() * static_cast<V>(rows * step));
#pragma unroll
            for (int c = 0; c < block_warps; c += 2 * step) {
                // Of full chunks; where all are, with what is not there, too, of which nothing is
                // used.
                if (even || regular_chunk(c + 2 * step - 1)) {
                    parts[c].merge(parts[c + step], weights);
                    continue;
                }
                if (!there(c + step)) continue;
                const std::uint32_t at = c * rows, middle = at + step * rows;
                parts[c] = merged(parts[c], parts[c + step], counts.in_rows(j, at, middle),
                                  counts.in_rows(j, middle, middle + step * rows));
            }
        }
        return parts[0];
    }

    /// a, which is lane j, with lane j + half.
    template <bool Regular>
    __device__ __forceinline__ void merge_lane(Acc& a, const Acc& b, std::uint32_t j, std::uint32_t half) const {
        if constexpr (Regular) {
            a.merge(b, acc::Weights<V>::equal(unit() * static_cast<V>(counts.m / 2 / half)));
        } else {
            // also where no lane has one to its right: with a branch for that 16-bit lanes were
            // kept in local memory (.49 for .98 of reading)
            a = merged(a, b, counts.in_lanes(j, 2 * half), counts.in_lanes(j + half, 2 * half));
        }
    }
    /// Lane j takes in lane j + half, for half = lanes/2 … 1, by one warp, as lanes_at(half) says;
    /// its first thread has the result.
    template <class LanesAt>
    [[nodiscard]] __device__ __forceinline__ Acc merge_lanes(const LanesAt& lanes_at) const {
        Acc a[K];
#pragma unroll
        for (int k = 0; k < K; ++k)
            a[k] = buffer.get(0, threadIdx.x + warp_size * k);
        return combine_lanes(a, lanes_at);
    }
    template <bool Regular>
    [[nodiscard]] __device__ __forceinline__ Acc merge_lanes() const {
        return merge_lanes([this](std::uint32_t half) {
            return [this, half](Acc& left, const Acc& right, std::uint32_t j) {
                if (Regular || j < half) merge_lane<Regular>(left, right, j, half);
            };
        });
    }

    /// Lane j of the tile's items, which are Rows rows of lanes or fewer; unless `real`, of zeros.
    template <bool Regular, int Rows>
    [[nodiscard]] __device__ __forceinline__ Acc fold_short_lane(std::uint32_t j, bool real) const {
        Acc row[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            row[r] = Acc{};
            const std::uint32_t at = r * Order::lanes + j;
            if (real && at < counts.m) row[r] = Items::as_accumulator(load_item<Items::source>(items + at));
        }
#pragma unroll
        for (int step = 1; step < Rows; step *= 2) {
            if (step * Order::lanes >= counts.m) break;
            const auto weights = acc::Weights<V>::equal(unit() * static_cast<V>(step));
#pragma unroll
            for (int r = 0; r < Rows; r += 2 * step) {
                if constexpr (Regular) { // of rows that are not there, too, of which nothing is used
                    row[r].merge(row[r + step], weights);
                } else {
                    row[r] = merged(row[r], row[r + step], counts.in_rows(j, r, r + step),
                                    counts.in_rows(j, r + step, r + 2 * step));
                }
            }
        }
        return row[0];
    }
    /// Such a tile by one warp; its first thread has the result.
    template <bool Regular, int Rows>
    [[nodiscard]] __device__ __forceinline__ Acc reduce_short(bool real) const {
        const std::uint32_t thread = threadIdx.x % warp_size;
        Acc a[K];
#pragma unroll
        for (int k = 0; k < K; ++k)
            a[k] = fold_short_lane<Regular, Rows>(thread + warp_size * k, real);
        return combine_lanes(a, [this](std::uint32_t half) {
            return [this, half](Acc& left, const Acc& right, std::uint32_t j) {
                if constexpr (Regular) {
                    Acc both = left;
                    merge_lane<true>(both, right, j, half);
                    left = choose(half < counts.m, both, left);
                } else if (j < half) {
                    merge_lane<false>(left, right, j, half);
                }
            };
        });
    }
    /// Are all its items as many elements, and their number a power of two?
    [[nodiscard]] __device__ __forceinline__ bool regular_short() const {
        return (counts.m & (counts.m - 1)) == 0 && counts.missing == 0;
    }

    /// The tile's result, in thread 0. All threads of the block call this; the buffer may be used
    /// again after a barrier.
    [[nodiscard]] __device__ __forceinline__ Acc reduce() const {
        const std::uint32_t chunk = threadIdx.x / warp_size;
        if (regular_chunk(chunk)) {
            fold_regular(chunk);
        } else if (there(chunk)) {
            fold_irregular(chunk);
        }
        __syncthreads();
        for (std::uint32_t j = threadIdx.x; j < Order::lanes; j += block_threads)
            buffer.put(0, j, merge_chunks(j));
        __syncthreads();
        if (chunk != 0) return Acc{};
        return regular() ? merge_lanes<true>() : merge_lanes<false>();
    }
};

} // namespace detreduce::cuda::moment_kernels

namespace detreduce::cuda {

/// Such items as a level of sequence/kernels.cuh.
template <class Items>
struct MomentsLevel : Items {
    using TileOf = moment_kernels::Tile<Items>;
    using Counts = typename TileOf::Counts;
    using Buffer = typename TileOf::Buffer;
    using typename Items::Acc, typename Items::Pointer;
    static constexpr bool in_rows = true;

    static __device__ __forceinline__ Acc reduce(const Pointer& items, const Counts& counts, Buffer& buffer) {
        return TileOf{items, counts, buffer}.reduce();
    }
    /// Rows rows of lanes or fewer, by a warp; unless `real`, of zeros.
    template <int Rows>
    static __device__ __forceinline__ Acc reduce_short(const Pointer& items, const Counts& counts, Buffer& buffer,
                                                       bool real) {
        const TileOf tile{items, counts, buffer};
        return tile.regular_short() ? tile.template reduce_short<true, Rows>(real)
                                    : tile.template reduce_short<false, Rows>(real);
    }
};
template <class V>
struct PartialLevel<acc::Moments<V>> : MomentsLevel<moment_kernels::Partials<V>> {};

/// The input. No element changes nothing where it is merged, so none can stand for one that is not
/// there: a lane is told how many rows it has.
template <class T, bool Aligned>
struct MomentLevel : MomentsLevel<moment_kernels::Elements<T, Aligned>> {
    using Acc = acc::Moments<fp::Arithmetic<T>>;
    using Result = Acc;
    static constexpr bool folds_rows = true;
    static __device__ __forceinline__ Acc of_nothing() { return {}; }
    static __device__ __forceinline__ T identity() { return {}; } ///< is not looked at

    /// The first `there` rows of a lane, at least `Minimum`.
    template <int Rows, int Minimum, class ItemAt>
    static __device__ __forceinline__ Acc fold(const ItemAt& item, int there) {
        Acc row[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            row[r] = MomentLevel::as_accumulator(item(r));
        return moment_kernels::fold_first<Minimum>(row, there);
    }
};
template <class T>
inline constexpr bool reads_words<MomentLevel<T, false>> = fp::has_16_bits<T>;

/// Of m elements the sizes of all parts follow. Those that meet at a time have at most two: so few
/// divisions are the same for all threads.
template <class T, bool Aligned>
struct Merges<MomentLevel<T, Aligned>> {
    using V = fp::Arithmetic<T>;
    using Acc = acc::Moments<V>;
    using Weights = acc::Weights<V>;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr unsigned all_lanes = Order::lanes, log_lanes = spec::ceil_log2(all_lanes);
    static constexpr int each_row = spec::rows_per_chunk;

    unsigned m;
    /// In thread i: those of q + 1 elements with q, where lanes j and j + (all_lanes >> i + 1) have
    /// q or q + 1 each.
    Weights uneven;

    explicit __device__ __forceinline__ Merges(int items) : m(static_cast<unsigned>(items)) {
        const unsigned thread = threadIdx.x % warp_size;
        const int q = static_cast<int>(m >> (thread < log_lanes ? log_lanes - thread : 1u));
        uneven = Weights::of(q + 1, q);
    }
    [[nodiscard]] __device__ __forceinline__ int rows(unsigned j, int c) const {
        return static_cast<int>(m / all_lanes) + (j < m % all_lanes ? 1 : 0) - c * each_row;
    }

    template <class Lanes, class LaneOf>
    __device__ __forceinline__ void chunks(Lanes& left, const Lanes& right, int d, int c, const LaneOf& lane_of) const {
        constexpr int K = sizeof(Lanes) / sizeof(Acc);
        const int size = each_row << d, fewest = rows(all_lanes, c >> d << d); // rows of a lane to the right
        if (fewest >= size) {
#pragma unroll
            for (int k = 0; k < K; ++k)
                left.a[k].merge(right.a[k], Weights::equal(static_cast<V>(size)));
            return;
        }
        const Weights few = Weights::of(size, fewest), more = Weights::of(size, fewest + 1);
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const bool one_more = static_cast<unsigned>(lane_of(k)) < m % all_lanes;
            Acc both = left.a[k];
            both.merge(right.a[k], Weights{one_more ? more.right : few.right, one_more ? more.cross : few.cross});
            left.a[k] = choose(one_more || fewest > 0, both, left.a[k]);
        }
    }

    /// Of the 2·half parts that remain, the first `larger` have q + 1 elements each,
    /// and the others q.
    [[nodiscard]] __device__ __forceinline__ auto lanes(unsigned half) const {
        const unsigned i = log_lanes - 1 - spec::ceil_log2(half), q = m / (2 * half), larger = m % (2 * half);
        const bool more = larger > half;
        const unsigned edge = more ? larger - half : larger;
        const V share = shuffle_from(uneven.right, static_cast<int>(i)),
                cross = shuffle_from(uneven.cross, static_cast<int>(i)),
                even = Weights::equal(static_cast<V>(static_cast<int>(q + more))).cross;
        return [=](Acc& left, const Acc& right, unsigned j) {
            const bool below = j < edge, differ = below != more;
            Acc both = left;
            both.merge(right, Weights{differ ? share : V(0.5), differ ? cross : even});
            left = choose(q > 0 || (more && below), both, left);
        };
    }
    [[nodiscard]] __device__ __forceinline__ auto lane_pair(unsigned j, unsigned half) const {
        const auto count = [&](unsigned lane) { return m / (2 * half) + (lane < m % (2 * half) ? 1 : 0); };
        return merge_of(static_cast<int>(count(j)), static_cast<int>(count(j + half)));
    }
    /// Of groups of n1 elements with others of n2, or of none.
    [[nodiscard]] static __device__ __forceinline__ auto merge_of(int n1, int n2) {
        const Weights weights = n1 == n2 ? Weights::equal(static_cast<V>(n1)) : Weights::of(n1, n2);
        return [=](Acc& left, const Acc& right) {
            if (n2 > 0) left.merge(right, weights);
        };
    }
    /// As chunks(), of lane j.
    [[nodiscard]] __device__ __forceinline__ auto chunk_pair(unsigned j, int d, int c) const {
        const int size = each_row << d, right = rows(j, c >> d << d);
        return merge_of(size, right < size ? right : size);
    }
};

} // namespace detreduce::cuda
