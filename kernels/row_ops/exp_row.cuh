// One row, and what is made of its sum of exponentials, by the team that has it.
#pragma once

#include "row_ops/exp_chunk.cuh"

namespace detreduce::cuda::row_kernels {

/// Merges by a call, where few are merged, and a merge is long.
template <class Acc>
struct Called : Acc {
    [[nodiscard]] static __device__ __forceinline__ Called identity() { return {Acc::identity()}; }
    __device__ __noinline__ void merge(Called right) { Acc::merge(right); }
};
/// Results of tiles, as those above them merge them.
template <class T, class Acc>
using Merged = std::conditional_t<std::is_same_v<Acc, spec::ExpState<T>>, Called<Acc>, Acc>;

/// The levels above the tiles of a row, whose results the block has left at `items`: to all
/// threads.
template <class T, class Acc>
__device__ __noinline__ Acc total_of_tiles(Acc* items, std::uint64_t m, Shared<T>& s) {
    using Item = Merged<T, Acc>;
    using Partial = PartialLevel<Item>;
    constexpr std::uint32_t tile_items = Partial::Order::tile;
    Item* level = reinterpret_cast<Item*>(items);
    while (m > 1) {
        const std::uint64_t tiles = spec::tiles(m, tile_items);
        Item* const above = level + (m + 3) / 4 * 4;
        for (std::uint64_t t = 0; t < tiles; ++t) {
            const auto sum = reduce_tile_by_team<Partial, most_warps>(
                level + t * tile_items, items_in_tile(t * tile_items, m, tile_items), s.template upper<Item>());
            if (threadIdx.x == 0) above[t] = sum;
            __syncthreads(); // the buffer is used again, and the level above is read
        }
        level = above;
        m = tiles;
    }
    return load_item<Source::partials>(level);
}

template <class V>
inline constexpr V smallest_normal = fp::from_bits<V>(fp::Bits<V>{1} << (fp::Format<V>::precision - 1));

template <class T>
__device__ __forceinline__ fp::Arithmetic<T> weight_of(const Rows<T>& a, std::uint64_t j) {
    return a.weights != nullptr ? fp::widen(load_number(a.weights + j)) : fp::Arithmetic<T>{1};
}
/// What the gradient of a row is multiplied by.
template <class T>
__device__ __forceinline__ fp::Arithmetic<T> factor_of(const Rows<T>& a, std::uint64_t row) {
    return a.factor != nullptr ? a.factor[a.own_factors ? row : 0] : fp::Arithmetic<T>{1};
}
/// What there is one of a row, where it is asked for.
template <class T>
__device__ __forceinline__ void put_number(const Rows<T>& a, std::uint64_t row, fp::Arithmetic<T> value,
                                           fp::Arithmetic<T> target_weight) {
    if (a.out != nullptr) RowOut<T>{a.out, row, a.output != dtype_of<T>}.put(0, value);
    if (a.row_weights != nullptr) a.row_weights[row] = fp::canonical(target_weight);
}

template <class T>
__device__ __forceinline__ RowTarget<fp::Arithmetic<T>> target_of(const Rows<T>& a, std::uint64_t row) {
    using V = fp::Arithmetic<T>;
    const std::int64_t target = a.targets[row];
    const auto c = spec::RowClass<V>::of(target, a.ignore_index, a.n);
    if (!c.there) return {V{0}, c.otherwise, false};
    return {fp::widen(load_number(a.x + static_cast<std::int64_t>(row * a.stride) + target)),
            weight_of(a, static_cast<std::uint64_t>(target)), true};
}

/// Blocks on a multiprocessor.
template <class T>
inline constexpr int blocks_of_rows = fp::is_f32<T> ? policy::exp_row_blocks_f32 : policy::exp_row_blocks;
template <class T>
inline constexpr int blocks_of_sums = fp::is_f64<T> ? policy::exp_sum_blocks_f64 : policy::exp_sum_blocks;

/// Few: of no more tiles than a warp has threads.
template <class T, RowOp Op, bool Aligned, bool Few = false>
struct ExpRow {
    using V = fp::Arithmetic<T>;
    using ChunkOf = Chunk<T, Aligned>;
    using Sum = spec::ExpSum<T>;
    using State = spec::ExpState<T>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows;
    static constexpr std::uint32_t tile_items = ChunkOf::Order::tile;

    using Target = RowTarget<V>;

    const Rows<T>& a;
    const T* x;
    std::uint64_t row;
    Shared<T>& s;
    std::uint64_t slot; ///< which part of the workspace is the block's

    /// Where the block keeps results of tiles.
    template <class Acc>
    [[nodiscard]] __device__ __forceinline__ Acc* partials() const {
        return reinterpret_cast<Acc*>(a.partials + slot * a.pitch);
    }
    /// Elements of the team's chunks: those of a tile, but where a cluster has the row.
    [[nodiscard]] static __device__ __forceinline__ std::uint32_t at_once() {
        return blockDim.x / warp_size * ChunkOf::Order::chunk;
    }
    [[nodiscard]] __device__ __forceinline__ int items(std::uint64_t tile) const {
        return static_cast<int>(items_in_tile(tile * tile_items, a.n, tile_items));
    }

    /// Not inlined: there are several of it.
    struct Lanes {
        V of[1][K];
    };
    [[nodiscard]] __device__ __noinline__ V sum_of_lanes(Lanes lane) const { return team_sum(lane.of, s); }
    /// Σ of what lanes(tile, sum) finds in each tile.
    template <bool Inlined = false, class F>
    [[nodiscard]] __device__ __forceinline__ V sum(const F& lanes_of) const {
        auto* const results = results_of_tiles<acc::Rounded<V>>();
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            Lanes lane;
            lanes_of(tile, lane.of[0]);
            const V part = Inlined ? team_sum(lane.of, s) : sum_of_lanes(lane);
            if (a.tiles == 1) return part;
            if (threadIdx.x == 0) results[tile] = {part};
        }
        sync_team();
        return total_of<acc::Rounded<V>>(results).sum;
    }
    /// Where results of the tiles of a row go that is read by one block, and what they make: to all
    /// threads.
    template <class Acc>
    [[nodiscard]] __device__ __forceinline__ Acc* results_of_tiles() const {
        return Few || a.tiles <= most_few_tiles ? s.template tiles_as<Acc>() : partials<Acc>();
    }
    template <class Acc>
    [[nodiscard]] __device__ __forceinline__ Acc total_of(Acc* results) const {
        if (!Few && a.tiles > most_few_tiles) return total_of_tiles<T>(results, a.tiles, s);
        if (threadIdx.x < warp_size) {
            const Merged<T, Acc> own{threadIdx.x < a.tiles ? results[threadIdx.x] : Acc::identity()};
            const Acc total = merge_few(own, a.tiles);
            if (threadIdx.x == 0) results[0] = total;
        }
        sync_team();
        const Acc total = results[0];
        sync_team(); // the results are used again
        return total;
    }

    /// Of a tile: to the first thread. The maximum of each chunk is taken out of it.
    [[nodiscard]] __device__ __forceinline__ State state_of(ChunkOf& chunk, std::uint64_t tile) const {
        V lane[K];
        const auto c = ExpChunk<T, Aligned, false>::of(chunk, items(tile), s.own_lane());
        c.add_rows(chunk, lane);
        return team_state(c.of_lanes(lane, s.own_lane()), s, c.steps);
    }
    /// The same of elements less `origin`, which is rare, in little code, by any number of warps.
    [[nodiscard]] __device__ __forceinline__ State state_of_less(std::uint64_t tile, V origin) const {
        const std::uint32_t thread = threadIdx.x % warp_size;
        V* const lanes = s.own_lane() + thread * K;
#pragma unroll 1
        for (std::uint32_t number = threadIdx.x / warp_size; number < most_warps; number += blockDim.x / warp_size) {
            const int m = items(tile) - static_cast<int>(number * ChunkOf::Order::chunk);
            const T* const elements = x + tile * tile_items + number * ChunkOf::Order::chunk;
            const auto for_each = [&](const auto& f) { // f(index, its lane, z), in order
#pragma unroll 1
                for (int j = 0; j < rows * K; ++j) {
                    const int i = static_cast<int>(thread) * K + j / K * ChunkOf::lanes + j % K;
                    f(i, lanes[j % K], i < m ? fp::widen(load_number(elements + i)) - origin : spec::exp_lowest<V>);
                }
            };
            V most = spec::exp_lowest<V>;
            int first = m; // of those that are the maximum
            for_each([&](int i, V& lane, V z) {
                lane = 0;
                if (z > most) first = i;
                most = greater_number(most, z);
            });
            const V maximum = maximum_of_warp(most);
            first = warp_min(most == maximum ? first : m);
            const auto reference = spec::ExpReference<V>::template at<T>(maximum);
            for_each([&](int i, V& lane, V z) {
                if (i != first) lane = reference.template term<T>(z).added_to(lane);
            });
            sync_warp();
            const V sum = sum_of_warp<K>(s.own_lane());
            if (thread == 0) s.chunks[number] = {maximum, sum};
            sync_warp(); // the lanes are used again
        }
        sync_team();
        if (threadIdx.x >= warp_size) return {};
        return merged_chunks<T>(s.chunks, most_warps, spec::ExpSteps{});
    }
    __device__ __forceinline__ void load(ChunkOf& chunk, std::uint64_t tile) const {
        // a long row, or its target, is read again
        chunk.template load<true>(x + tile * tile_items, items(tile), lowest_of<T>);
    }
    /// Of the row, whose tiles have the states that f(tile) gives to the first thread: to all
    /// threads.
    template <class F>
    [[nodiscard]] __device__ __forceinline__ State state_of_tiles(const F& f) const {
#pragma unroll 1
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            const State part = f(tile);
            if (threadIdx.x == 0) {
                if (a.tiles == 1) {
                    s.state = part;
                } else {
                    results_of_tiles<State>()[tile] = part;
                }
            }
            sync_team(); // the shared memory is used again
        }
        return a.tiles == 1 ? s.state : total_of(results_of_tiles<State>());
    }
    [[nodiscard]] __device__ __forceinline__ State state() const {
        return state_of_tiles([&](std::uint64_t tile) {
            ChunkOf chunk;
            load(chunk, tile);
            if (tile + 1 < a.tiles) ChunkOf::prefetch(x + (tile + 1) * tile_items, items(tile + 1));
            return state_of(chunk, tile);
        });
    }

    /// Of f of the elements; NaN, if one is.
    template <class F>
    [[nodiscard]] __device__ __forceinline__ V maximum_of(const F& f) const {
        V most = fp::widen(lowest_of<T>);
        bool nan = false;
#pragma unroll 1
        for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x) {
            const V v = f(fp::widen(load_number(x + i)));
            nan = nan || v != v;
            most = v > most ? v : most;
        }
        most = maximum_of_warp(most);
        if (any_of_warp(nan)) most = spec::quiet_nan<V>;
        if (threadIdx.x % warp_size == 0) s.maximum[threadIdx.x / warp_size] = most;
        sync_team();
#pragma unroll 1
        for (std::uint32_t w = 0; w < blockDim.x / warp_size; ++w) {
            const V other = s.maximum[w];
            if (!(other <= most)) most = most != most ? most : other;
        }
        sync_team();
        return most;
    }
    /// What forward has kept of the row, or else what is found by reading it.
    [[nodiscard]] __device__ __forceinline__ Sum known_sum() const {
        return a.exp_sums != nullptr ? Sum::of_kept(a.exp_sums + 2 * row) : sum_of(state());
    }
    /// By one thread.
    static __device__ __forceinline__ void keep(const Rows<T>& a, std::uint64_t row, const Sum& e) {
        if (a.exp_sums != nullptr) e.keep(a.exp_sums + 2 * row);
    }
    static __device__ __forceinline__ void keep_none(const Rows<T>& a, std::uint64_t row) {
        if (a.exp_sums != nullptr) Sum::keep_none(a.exp_sums + 2 * row);
    }
    /// Of a row whose elements, as they are, have this state.
    [[nodiscard]] __device__ __forceinline__ Sum sum_of(const State& plain) const {
        return Sum::is_plain(plain) ? Sum::plain(plain) : sum_at_maximum();
    }
    [[nodiscard]] __device__ __noinline__ Sum sum_at_maximum() const {
        const V most = maximum_of([](V v) { return v; });
        if (!fp::is_finite(most)) return Sum::special(most);
        return Sum::of(state_of_tiles([&](std::uint64_t tile) { return state_of_less(tile, most); }), most);
    }

    [[nodiscard]] __device__ __forceinline__ RowOut<T> out() const {
        return RowOut<T>::of(a, row);
    }
    [[nodiscard]] __device__ __forceinline__ V probability(std::uint64_t j) const {
        return fp::widen(load_number(a.probabilities + row * a.probability_stride + j));
    }

    /// What the gradient needs beside the terms.
    struct Slope {
        V of_softmax, own, all, factor;
        V x;                 ///< at the target: the gradient may take the place of the row
        std::int64_t target; ///< −1: classes have probabilities
    };
    /// Of an element, its number and softmax, where all classes count; z is that of z_loss.
    [[nodiscard]] __device__ __forceinline__ V slope(const Sum& e, const Slope& g, V v, V p, std::int64_t j,
                                                     V z) const {
        const auto i = static_cast<std::uint64_t>(j);
        const bool there = i < a.n; // what is beyond the row is not stored
        const V other = there && a.weights != nullptr ? weight_of(a, i) : V{1};
        if (a.probabilities != nullptr) {
            const V own = there ? a.smoothed.coefficient(other, probability(i)) : V{0};
            return spec::slope_of_class(e, v, p, g.all, own, z) * g.factor;
        }
        if (j == g.target) return a.smoothed.target_slope(p, e.softmax_less_one(v, p), g.all, g.own, z) * g.factor;
        return a.smoothed.slope(p, g.of_softmax, other) * g.factor;
    }
    [[nodiscard]] __device__ __forceinline__ Slope slope_of_one_class() const {
        const std::int64_t target = a.targets[row];
        const V own = weight_of(a, static_cast<std::uint64_t>(target));
        return {own, own, V{1}, factor_of(a, row), fp::widen(load_number(x + target)), target};
    }
    /// Where all classes count.
    [[nodiscard]] __device__ __forceinline__ Slope slope_of_all() const {
        Slope g{V{1}, V{1}, static_cast<V>(a.n), factor_of(a, row), V{0}, -1};
        const bool given = a.probabilities != nullptr;
        if (given || (a.weights != nullptr && a.smoothed.at_all != 0)) g.all = sum_of_weights();
        if (given) return g;
        g.target = a.targets[row];
        g.own = weight_of(a, static_cast<std::uint64_t>(g.target));
        g.of_softmax = a.smoothed.of_softmax(g.own, g.all);
        return g;
    }
    /// Σ f(j) over all classes. A loop: f may be long.
    template <class F>
    [[nodiscard]] __device__ __forceinline__ V sum_of_classes(const F& f) const {
        return sum([&](std::uint64_t tile, V(&lane)[K]) {
#pragma unroll
            for (int k = 0; k < K; ++k)
                lane[k] = V(-0.0);
            const int m = items(tile);
#pragma unroll 1
            for (int r = 0; r < ChunkOf::rows; ++r) {
                const int first = ChunkOf::first() + r * ChunkOf::lanes;
#pragma unroll
                for (int k = 0; k < K; ++k)
                    lane[k] = lane[k] +
                              (first + k < m ? f(tile * tile_items + static_cast<std::uint64_t>(first + k)) : V(-0.0));
            }
        });
    }
    /// Of what the classes count.
    [[nodiscard]] __device__ __forceinline__ V sum_of_weights() const {
        return sum_of_classes([&](std::uint64_t j) {
            return a.probabilities != nullptr ? a.smoothed.coefficient(weight_of(a, j), probability(j))
                                              : weight_of(a, j);
        });
    }

    /// Rows of a chunk that are written at once. Half of them take half the code, but rows of f64
    /// are slower so.
    static constexpr int rows_at_once = fp::is_f64<T> ? rows : rows / 2;
    /// f(x, its softmax, its number) for each element of the row, which is read again.
    template <int Count = rows_at_once, class F>
    __device__ __forceinline__ void write_each(const Sum& e, const F& f) const {
        using Part = Chunk<T, Aligned, Count>;
        const StepsOf<T> steps;
        for (std::uint64_t begin = 0; begin < a.n; begin += at_once()) {
#pragma unroll 1
            for (int row_of_chunk = 0; row_of_chunk < spec::rows_per_chunk; row_of_chunk += Count) {
                const std::uint64_t first = begin + static_cast<std::uint64_t>(row_of_chunk * Part::lanes);
                const int m = static_cast<int>(items_in_tile(begin, a.n, at_once())) - row_of_chunk * Part::lanes;
                Part part;
                part.load(x + first, m, lowest_of<T>);
                Part::template store<true, true>(out().from(first), m, s.own_lane(), [&](int r, int k) {
                    const V v = part.at(r, k);
                    const auto index = static_cast<std::int64_t>(first) + Part::first() + r * Part::lanes + k;
                    if constexpr (Op == RowOp::log_softmax) return e.log_softmax(v);
                    if constexpr (Op == RowOp::cross_entropy_target_gradient) return f(v, V{0}, index);
                    return f(v, e.softmax(v, steps), index);
                });
            }
        }
    }
    /// Of one class a row, if it is the gradient.
    template <int Count>
    __device__ __forceinline__ void write(const Sum& e) const {
        if (e.is_special()) return write_same(spec::quiet_nan<V>);
        if constexpr (Op != RowOp::cross_entropy_gradient) {
            write_each<Count>(e, [&](V, V p, std::int64_t) { return p; });
        } else {
            // Every class as if it were not the target, and then that one again, by the thread that
            // has it.
            const Slope g = slope_of_one_class();
            write_each<Count>(e, [&](V, V p, std::int64_t) { return g.of_softmax * p * g.factor; });
            const auto in_part = static_cast<int>(static_cast<std::uint64_t>(g.target) % at_once());
            if (!Aligned) sync_team(); // another thread may have stored there
            if (ChunkOf::thread_of(in_part) == static_cast<int>(threadIdx.x)) write_target(e, g);
        }
    }
    /// Not inlined, so that the compiler does not take its store for one of something else than the
    /// store of 16 bytes before it.
    __device__ __noinline__ void write_target(const Sum& e, const Slope& g) const {
        const V p = e.softmax(g.x);
        out().put(static_cast<std::uint64_t>(g.target),
                  a.smoothed.target_slope(p, e.softmax_less_one(g.x, p), g.all, g.own) * g.factor);
    }
    /// The gradient, where all classes count. Not inlined: where they do not, its registers are not
    /// asked for.
    __device__ __noinline__ void write_slopes(const Sum& e) const {
        if (e.is_special()) return write_same(spec::quiet_nan<V>);
        Slope g = slope_of_all();
        const V z = a.smoothed.z_slope(a.z_loss, e.logsumexp());
        g.of_softmax = a.smoothed.with_z_slope(g.of_softmax, z, V{1});
        write_each<1>(e, [&](V v, V p, std::int64_t j) { return slope(e, g, v, p, j, z); });
    }
    /// By `blocks`, of which this one is number `rank`.
    __device__ void write_same(V value, std::uint32_t rank = 0, std::uint32_t blocks = 1) const {
        const std::uint64_t step = std::uint64_t{blocks} * blockDim.x;
#pragma unroll 1
        for (std::uint64_t i = std::uint64_t{rank} * blockDim.x + threadIdx.x; i < a.n; i += step)
            out().put(i, value);
    }

    [[nodiscard]] __device__ __forceinline__ V sum_of_neg_log_probs(const Sum& e) const {
        return sum_of_classes([&](std::uint64_t j) {
            const V s = e.neg_log_prob(fp::widen(load_number(x + j))), w = weight_of(a, j);
            return a.probabilities != nullptr ? a.smoothed.loss_of_class(s, w, probability(j)) : w * s;
        });
    }
    __device__ __forceinline__ void put(V value, V target_weight) const {
        if (threadIdx.x == 0) put_number(a, row, value, target_weight);
    }
    __device__ __forceinline__ void put_entropy(const Sum& e, V of_all) const {
        if (a.probabilities != nullptr) return put(a.smoothed.with_z_loss(of_all, a.z_loss, e.logsumexp()), V{1});
        if (threadIdx.x == 0) put_entropy_of_target(a, row, e, target_of(a, row), of_all, a.z_loss);
    }
    /// By one thread.
    static __device__ __forceinline__ void put_entropy_of_target(const Rows<T>& a, std::uint64_t row, const Sum& e,
                                                                 const RowTarget<V>& target, V of_all, V z_loss) {
        const V loss = a.smoothed.loss(e.neg_log_prob(target.x), target.weight, of_all);
        put_number(a, row, a.smoothed.with_z_loss(loss, z_loss, e.logsumexp()), target.weight);
    }
    /// logsumexp, or the cross entropy of one class: by one thread.
    static __device__ __forceinline__ void put_one(const Rows<T>& a, std::uint64_t row, const Sum& e,
                                                   const RowTarget<V>& target) {
        if (a.entropy && !target.there) {
            keep_none(a, row);
            return put_number(a, row, target.weight, target.weight);
        }
        keep(a, row, e);
        if (!a.entropy) return put_number(a, row, e.logsumexp(), V{0});
        put_entropy_of_target(a, row, e, target, V{0}, V{0}); // without z_loss
    }

    /// Rows without a class to be told from others; true if that is what this one is.
    [[nodiscard]] __device__ __forceinline__ bool without_class() const {
        if (a.probabilities != nullptr) return false;
        const auto c = spec::RowClass<V>::of(a.targets[row], a.ignore_index, a.n);
        if (c.there) return false;
        if constexpr (Op == RowOp::logsumexp) {
            if (threadIdx.x == 0) keep_none(a, row);
            put(c.otherwise, c.otherwise);
        } else {
            write_same(c.otherwise, cluster_rank(), cluster_blocks());
        }
        return true;
    }

    template <int Count = rows_at_once>
    __device__ __forceinline__ void finish(const Sum& e) const {
        if constexpr (Op == RowOp::logsumexp) {
            if (threadIdx.x == 0) keep(a, row, e);
            const bool sums = a.smoothed.at_all != 0 || a.probabilities != nullptr;
            if (a.entropy) return put_entropy(e, sums ? sum_of_neg_log_probs(e) : V{0});
            put(e.logsumexp(), V{0});
        } else {
            write<Count>(e);
        }
    }
};

} // namespace detreduce::cuda::row_kernels
