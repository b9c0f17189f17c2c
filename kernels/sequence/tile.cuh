// One tile of `tree` (lib/SPEC.md, section 3) on the GPU. A row of a tile is one 512-byte load of a
// warp; thread t holds lanes t·K … t·K + K − 1. A tile is worked on by a team of 4 or 8 warps: each
// takes 8 / team neighbouring chunks, which is a subtree of the chunk tree, so who executes a tile
// never changes a bit.
#pragma once

#include <cstdint>

#include <detreduce/fp/convert.hpp>
#include <detreduce/spec/transforms.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "sources/load.cuh"
#include "platform/half.cuh"
#include "platform/warp.cuh"

namespace detreduce::cuda {

/// The lanes of one thread.
template <class Acc, int K>
struct Lanes {
    Acc a[K];

    static __device__ __forceinline__ Lanes identity() {
        Lanes lanes;
#pragma unroll
        for (int k = 0; k < K; ++k)
            lanes.a[k] = Acc::identity();
        return lanes;
    }
    __device__ __forceinline__ void merge(const Lanes& right) {
#pragma unroll
        for (int k = 0; k < K; ++k)
            a[k].merge(right.a[k]);
    }
};

/// A binary tree over the parts of chunks, at most chunks_per_tile, that come one after the other:
/// those that are complete wait for their right neighbours.
template <class Part>
struct PendingTree {
    static constexpr int depth = 3;
    static_assert(1 << depth == spec::chunks_per_tile);
    Part pending[depth];

    /// Takes part i, and makes it the sum of all up to it that it completes; of all there were, if
    /// it is the last. merge(left, right, d, i) merges 2^d parts with those behind them, up to i.
    template <class Merge>
    __device__ __forceinline__ void take(int i, Part& part, bool last, const Merge& merge) {
        bool waits = false;
#pragma unroll
        for (int d = 0; d < depth; ++d) {
            if (waits) continue;
            if (i >> d & 1) {
                merge(pending[d], part, d, i);
                part = pending[d];
            } else if (!last) {
                pending[d] = part;
                waits = true;
            }
        }
    }
    __device__ __forceinline__ void take(int i, Part& part, bool last) {
        take(i, part, last, [](Part& left, const Part& right, int, int) { left.merge(right); });
    }
};

/// How the parts of a group of at most a tile are merged. Where it matters how many elements they
/// are of, a level has a version of its own.
template <class Level>
struct Merges {
    explicit __device__ __forceinline__ Merges(int /*m*/) {}

    /// Rows of lane j in chunk c, or more.
    [[nodiscard]] __device__ __forceinline__ int rows(int /*j*/, int /*c*/) const { return spec::rows_per_chunk; }
    /// As PendingTree::take() says, of chunks; lane_of(k) is number k.
    template <class Lanes, class LaneOf>
    __device__ __forceinline__ void chunks(Lanes& left, const Lanes& right, int, int, const LaneOf&) const {
        left.merge(right);
    }
    /// merge(left, right, j): lane j and lane j + half.
    [[nodiscard]] __device__ __forceinline__ auto lanes(int /*half*/) const {
        return [](auto& left, const auto& right, int) { left.merge(right); };
    }
    /// Both for one j: merge(left, right).
    [[nodiscard]] __device__ __forceinline__ auto chunk_pair(int /*j*/, int /*d*/, int /*c*/) const {
        return [](auto& left, const auto& right) { left.merge(right); };
    }
    [[nodiscard]] __device__ __forceinline__ auto lane_pair(int /*j*/, int /*half*/) const {
        return [](auto& left, const auto& right) { left.merge(right); };
    }
};

/// `choice ? yes : no`, word by word: of whole structures the compiler would choose between
/// addresses, and keep them in memory for that.
template <class Value>
__device__ __forceinline__ Value choose(bool choice, const Value& yes, const Value& no) {
    static_assert(sizeof(Value) % 4 == 0);
    constexpr int words = sizeof(Value) / 4;
    std::uint32_t a[words], b[words];
    __builtin_memcpy(a, &yes, sizeof yes);
    __builtin_memcpy(b, &no, sizeof no);
#pragma unroll
    for (int i = 0; i < words; ++i)
        a[i] = choice ? a[i] : b[i];
    Value chosen;
    __builtin_memcpy(&chosen, a, sizeof chosen);
    return chosen;
}

/// f<Half>() … f<Last>(), for half as much each time: a loop that is unrolled whatever is in it.
template <int Half, int Last = 1, class F>
__device__ __forceinline__ void each_half(const F& f) {
    f.template operator()<Half>();
    if constexpr (Half > Last) each_half<Half / 2, Last>(f);
}

/// merge(left, right) of mine and another, whichever of the two is the left one.
template <class Merge, class Acc>
__device__ __forceinline__ Acc meet(const Merge& merge, const Acc& mine, const Acc& other, bool mine_is_right) {
    if constexpr (Acc::commutes) mine_is_right = false;
    Acc sum = choose(mine_is_right, other, mine);
    merge(sum, choose(mine_is_right, mine, other));
    return sum;
}

/// f(i, step) for all items i that are merged with i + step, in order: Count of them, a power of
/// two, as a binary tree of neighbours.
template <int Count, class F>
__device__ __forceinline__ void each_neighbours(const F& f) {
#pragma unroll
    for (int step = 1; step < Count; step *= 2) {
#pragma unroll
        for (int i = 0; i < Count; i += 2 * step)
            f(i, step);
    }
}
/// Merges a[0 … Count − 1] so.
template <int Count, class Acc>
__device__ __forceinline__ Acc merge_neighbours(Acc (&a)[Count]) {
    each_neighbours<Count>([&](int i, int step) { a[i].merge(a[i + step]); });
    return a[0];
}
/// Lane j takes in lane j + half, for half = K/2 … 1.
template <int K, class Acc>
__device__ __forceinline__ Acc combine_own_lanes(Acc (&a)[K]) {
#pragma unroll
    for (int half = K / 2; half >= 1; half /= 2) {
#pragma unroll
        for (int k = 0; k < half; ++k)
            a[k].merge(a[k + half]);
    }
    return a[0];
}

/// An element as a number that can be added.
template <class T>
__device__ __forceinline__ fp::Arithmetic<T> widen(T x) {
    return fp::widen(x);
}
__device__ __forceinline__ float widen(bfloat16 x) {
    return f32_of_bf16_here(x.bits);
}
__device__ __forceinline__ float widen(float16 x) {
    return f32_of_f16_here(x.bits);
}

/// Item k of a pack. Of 16-bit formats it is widened at once, from the word that it is in, and
/// stays where it is used (as widen() does): from 16 bits bf16 would take the same unit of the
/// processor for each, which is the busiest of all where rows are short, and both would take more
/// registers.
template <class Item, int K>
__device__ __forceinline__ const Item& item_at(const Pack<Item, K>& pack, int k) {
    return pack.v[k];
}
template <class Item, int K>
__device__ __forceinline__ std::uint32_t word_of_item(const Pack<Item, K>& pack, int k) {
    std::uint32_t word;
    __builtin_memcpy(&word, &pack.v[k - k % 2], sizeof word);
    return word;
}
template <int K>
__device__ __forceinline__ float item_at(const Pack<bfloat16, K>& pack, int k) {
    const std::uint32_t word = word_of_item(pack, k);
    return k % 2 == 0 ? f32_of_low_bf16_here(word) : f32_of_high_bf16_here(word);
}
template <int K>
__device__ __forceinline__ float item_at(const Pack<float16, K>& pack, int k) {
    const std::uint32_t word = word_of_item(pack, k);
    return k % 2 == 0 ? f32_of_low_f16_here(word) : f32_of_high_f16_here(word);
}

/// The input: elements are added.
template <class T, class AccT, bool Aligned>
struct InputLevel {
    using Item = T;
    using Pointer = const T*;
    using Acc = AccT;
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Aligned ? Source::aligned_input : Source::any_input;
    static constexpr bool in_rows = false; ///< of a flat array only: f16 and bf16 have no registers to spare for rows
    /// Of what item_at() gives, here and below.
    template <class X>
    static __device__ __forceinline__ void take(Acc& a, const X& x) {
        a.add(widen(x));
    }
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& x) {
        return Acc::of(widen(x));
    }
    /// Stands for an element that is not there.
    static __device__ __forceinline__ Item identity() { return fp::from_bits<T>(fp::sign_mask<T>); }
};

/// The input of an op: terms of one or two elements are merged.
template <class T, class AccT, class Map, Alignment A = Alignment::seen>
struct TermLevel {
    using V = fp::Arithmetic<T>;
    using Items = ItemOf<T, Map::inputs, A>;
    static constexpr bool known_aligned = A == Alignment::known;
    using Item = typename Items::type;
    using Pointer = typename Items::Pointer;
    using Acc = AccT;
    using Result = AccT; ///< of a tile
    using Order = spec::TreeOrder<sizeof(T)>;
    static constexpr Source source = Source::any_input;
    static constexpr bool in_rows = true;
    template <class X>
    static __device__ __forceinline__ Acc as_accumulator(const X& item) {
        V x, y;
        if constexpr (Map::inputs == 2) {
            x = widen(item.x);
            y = widen(item.y);
        } else {
            x = y = widen(item);
        }
        if constexpr (Acc::keeps_errors) {
            const fp::Eft<V> t = Map::split(x, y);
            return {t.value, t.error};
        } else {
            return {Map::value(x, y)};
        }
    }
    template <class X>
    static __device__ __forceinline__ void take(Acc& a, const X& item) {
        a.merge(as_accumulator(item));
    }
    /// The sum of a group without elements.
    static __device__ __forceinline__ Acc of_nothing() { return Acc::of(0); }
    /// Its term is a zero that changes nothing: −0 where there may be sums of −0.
    static __device__ __forceinline__ Item identity() {
        if constexpr (Map::inputs == 2) {
            constexpr bool product = Map::transform == Transform::product;
            return {fp::from_bits<T>(fp::sign_mask<T>), fp::from_bits<T>(product ? fp::one_bits<T> : fp::sign_mask<T>)};
        } else {
            return fp::from_bits<T>(fp::sign_mask<T>);
        }
    }
};

/// Any level above: partial results are merged.
template <class AccT>
struct PartialLevel {
    using Item = AccT;
    using Pointer = const AccT*;
    using Acc = AccT;
    using Order = spec::TreeOrder<sizeof(typename AccT::Value)>;
    static constexpr Source source = Source::partials;
    static constexpr bool in_rows = true;
    static __device__ __forceinline__ void take(Acc& a, const Item& x) { a.merge(x); }
    static __device__ __forceinline__ Acc as_accumulator(const Item& x) { return x; }
    static __device__ __forceinline__ Item identity() { return Acc::identity(); }
};

/// Levels that fold the rows of a lane themselves, and are told how many there are.
template <class Level>
inline constexpr bool folds_rows = requires {
    requires Level::folds_rows;
};

/// Lane k of a thread has all rows.
struct AllRows {
    __device__ __forceinline__ int operator()(int) const { return spec::rows_per_chunk; }
};

/// The first Most rows of a chunk, K lanes of each, in the order of the method. Lane by lane, so
/// that few partial sums are alive at once. Of what is beyond the rows_of(k) first rows of lane k,
/// which are at least `Minimum`, the items are absent.
template <class Level, int K, int Most = spec::rows_per_chunk, int Minimum = Most, class Rows = AllRows>
__device__ __forceinline__ Lanes<typename Level::Acc, K>
fold_rows(const Pack<typename Level::Item, K> (&packs)[spec::rows_per_chunk], const Rows& rows_of = {}) {
    using Acc = typename Level::Acc;
    Lanes<Acc, K> lanes;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        if constexpr (folds_rows<Level>) {
            lanes.a[k] = Level::template fold<Most, Minimum>(
                [&](int r) -> decltype(auto) { return item_at(packs[r], k); }, rows_of(k));
        } else if constexpr (Acc::pairwise_rows) {
            Acc row[Most];
#pragma unroll
            for (int r = 0; r < Most; ++r)
                row[r] = Level::as_accumulator(
                    packs[r].v[k]); // `compensated` has its registers better used so than by item_at()
            lanes.a[k] = merge_neighbours(row);
        } else {
            lanes.a[k] = Level::as_accumulator(item_at(packs[0], k));
#pragma unroll
            for (int r = 1; r < Most; ++r)
                Level::take(lanes.a[k], item_at(packs[r], k));
        }
    }
    return lanes;
}

template <class Level>
struct TileReader {
    using Item = typename Level::Item;
    using Acc = typename Level::Acc;
    using Order = typename Level::Order;
    using Pointer = typename Level::Pointer;
    static constexpr int K = Order::lanes / warp_size;
    static constexpr int rows = spec::rows_per_chunk;
    using Packs = Pack<Item, K>[rows];

    static __device__ __forceinline__ void take(Lanes<Acc, K>& lanes, const Pack<Item, K>& row) {
#pragma unroll
        for (int k = 0; k < K; ++k)
            Level::take(lanes.a[k], item_at(row, k));
    }

    /// A chunk; `p` points to the thread's first item in it.
    static __device__ __forceinline__ Lanes<Acc, K> fold_all(const Pointer& p) {
        Packs packs;
#pragma unroll
        for (int r = 0; r < rows; ++r)
            packs[r] = load_pack<Level::source, Item, K>(p + r * Order::lanes);
        // ptxas would delay the last load of `kahan` until additions have freed its registers.
        if constexpr (Acc::keeps_errors && !Acc::pairwise_rows) keep_order();
        return fold_rows<Level, K>(packs);
    }

    /// A chunk of which only `m` items exist (any m, also ≤ 0 or more than a chunk): whole rows,
    /// then at most one short one. All loads start before the first is used: the upper levels are
    /// short, and there it is latency that counts.
    static __device__ __forceinline__ Lanes<Acc, K> fold_some(const Pointer& p, int m, int first_lane) {
        constexpr int lanes_in_row = Order::lanes;
        const int whole = m < 0 ? 0 : (m / lanes_in_row < rows ? m / lanes_in_row : rows);
        const int in_short_row = whole < rows ? m - whole * lanes_in_row - first_lane : 0;
        const Pointer short_row = p + whole * lanes_in_row;
        Packs packs;
        Pack<Item, K> last;
        // What is not loaded is something all the same: else the compiler keeps what was there
        // before, of a full chunk, too. (Not so for `kahan`: .91 of the read-only kernel without
        // this, .79 with it.)
        if constexpr (!Acc::keeps_errors || Acc::pairwise_rows) {
#pragma unroll
            for (int r = 0; r < rows; ++r)
                packs[r] = {};
            last = {};
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if constexpr (loads_without_branch<Pointer>) {
                packs[r] = load_pack_if<Item, K>(r < whole, p + r * lanes_in_row);
            } else {
                if (r < whole) packs[r] = load_pack<Level::source, Item, K>(p + r * lanes_in_row);
            }
        }
#pragma unroll
        for (int k = 0; k < K; ++k) {
            if (k < in_short_row) last.v[k] = load_item<Level::source>(short_row + k);
        }
        if constexpr (Acc::pairwise_rows) {
#pragma unroll
            for (int k = 0; k < K; ++k) {
                if (k >= in_short_row) last.v[k] = Level::identity();
            }
#pragma unroll
            for (int r = 0; r < rows; ++r) {
#pragma unroll
                for (int k = 0; k < K; ++k) {
                    if (r >= whole) packs[r].v[k] = r == whole ? last.v[k] : Level::identity();
                }
            }
            return fold_rows<Level, K, rows, 0>(packs, [=](int k) { return whole + (k < in_short_row ? 1 : 0); });
        } else {
            auto lanes = Lanes<Acc, K>::identity();
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                if (r < whole) take(lanes, packs[r]);
            }
#pragma unroll
            for (int k = 0; k < K; ++k) {
                if (k < in_short_row) Level::take(lanes.a[k], last.v[k]);
            }
            return lanes;
        }
    }

    /// A binary tree over `Count` lots of lanes, the c-th of which is fold_one(c).
    template <int Count, class FoldOne>
    static __device__ __forceinline__ Lanes<Acc, K> fold_as_tree(const FoldOne& fold_one) {
        PendingTree<Lanes<Acc, K>> chunks;
        Lanes<Acc, K> lanes;
#pragma unroll
        for (int c = 0; c < Count; ++c) {
            lanes = fold_one(c);
            chunks.take(c, lanes, c + 1 == Count);
        }
        return lanes;
    }

    /// Chunks [first, first + Count) of the tile at `tile` with `m` items.
    template <int Count>
    static __device__ __forceinline__ Lanes<Acc, K> fold_part(const Pointer& tile, std::uint32_t m, int first) {
        const int first_lane = (threadIdx.x % warp_size) * K;
        const Pointer p = tile + first * Order::chunk + first_lane;
        if (m == Order::tile) {
            return fold_as_tree<Count>([&](int c) { return fold_all(p + c * Order::chunk); });
        }
        const int remaining = static_cast<int>(m) - first * static_cast<int>(Order::chunk);
        return fold_as_tree<Count>([&](int c) {
            return fold_some(p + c * Order::chunk, remaining - c * static_cast<int>(Order::chunk), first_lane);
        });
    }
};

/// Lane j takes in lane j + half, for half = lanes/2 … 1, where thread t of a warp has lanes t,
/// t + 32, …; thread 0 has the result.
template <int K, class Acc>
__device__ __forceinline__ Acc combine_lanes(Acc (&a)[K]) {
    combine_own_lanes(a);
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2)
        a[0].merge(shuffle_down(a[0], distance));
    return a[0];
}

/// Shared memory of one team: every lane of each of its warps. A thread's lanes lie side by side
/// where they are 16 bytes or accumulators of 4; else side by side with those of other threads,
/// since threads that are more than 16 bytes apart want the same banks.
template <class Acc, int K, int TeamWarps>
struct TeamBuffer {
    static constexpr int lanes = K * warp_size;
    static constexpr bool by_threads = sizeof(Acc) * K <= 16 || sizeof(Acc) <= 4;
    Acc lane[TeamWarps][lanes];

    __device__ __forceinline__ void put(int warp, int thread, const Acc (&a)[K]) {
        if constexpr (by_threads) {
            __builtin_memcpy(&lane[warp][thread * K], a, sizeof a);
        } else {
#pragma unroll
            for (int k = 0; k < K; ++k)
                lane[warp][k * warp_size + thread] = a[k];
        }
    }
    /// Where lane j is.
    [[nodiscard]] static __device__ __forceinline__ int place(int j) {
        return by_threads ? j : j % K * warp_size + j / K;
    }
};

/// The tile at `tile` by a team of warps, all of whose threads call this; thread 0 of the team has
/// the result. `buffer` may be used again after a barrier. m = 0: nothing to do, but the barriers
/// are still met.
template <class Level, int TeamWarps, class Buffer>
__device__ __forceinline__ typename Level::Acc reduce_tile_by_team(const typename Level::Pointer& tile, std::uint32_t m,
                                                                   Buffer& buffer) {
    using Reader = TileReader<Level>;
    using Acc = typename Level::Acc;
    constexpr int chunks = spec::chunks_per_tile / TeamWarps, K = Reader::K;
    const int thread = threadIdx.x % warp_size, warp = threadIdx.x / warp_size % TeamWarps;
    if (m > 0) {
        const auto lanes = Reader::template fold_part<chunks>(tile, m, warp * chunks);
        buffer.put(warp, thread, lanes.a);
    }
    __syncthreads();
    if (m > 0) { // the team's warps, lane by lane, in whatever order of lanes
        for (int j = warp * warp_size + thread; j < Buffer::lanes; j += TeamWarps * warp_size) {
            Acc parts[TeamWarps];
#pragma unroll
            for (int w = 0; w < TeamWarps; ++w)
                parts[w] = buffer.lane[w][j];
            buffer.lane[0][j] = merge_neighbours(parts);
        }
    }
    __syncthreads();
    if (warp != 0 || m == 0) return Acc::identity();
    Acc lanes[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
        lanes[k] = buffer.lane[0][Buffer::place(thread + warp_size * k)];
    return combine_lanes(lanes);
}

} // namespace detreduce::cuda
