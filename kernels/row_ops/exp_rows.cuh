// logsumexp, softmax, log_softmax, cross entropy and its gradient. The elements of a row are first
// taken as they are, so that it is read once; where its greatest element is beyond exp_plain, or
// none, which is rare, the row is read again, for that element and for the sum of what is taken
// less it.
#pragma once

#include "row_ops/chunk.cuh"

namespace detreduce::cuda::row_kernels {

/// The levels above the tiles of a row, whose results the block has left at `items`: to all
/// threads.
template <class T, class Acc, class Buffer>
__device__ __noinline__ Acc total_of_tiles(Acc* items, std::uint64_t m, Buffer& buffer) {
    using Partial = PartialLevel<Acc>;
    constexpr std::uint32_t tile_items = Partial::Order::tile;
    Acc* level = items;
    while (m > 1) {
        const std::uint64_t tiles = spec::tiles(m, tile_items);
        Acc* const above = level + (m + 3) / 4 * 4;
        for (std::uint64_t t = 0; t < tiles; ++t) {
            const auto sum = reduce_tile_by_team<Partial, most_warps>(
                level + t * tile_items, items_in_tile(t * tile_items, m, tile_items), buffer);
            if (threadIdx.x == 0) above[t] = sum;
            __syncthreads(); // the buffer is used again, and the level above is read
        }
        level = above;
        m = tiles;
    }
    return load_item<Source::partials>(level);
}

template <class V>
inline constexpr V least_normal = fp::from_bits<V>(fp::Bits<V>{1} << (fp::Format<V>::precision - 1));

template <class T>
__device__ __forceinline__ fp::Arithmetic<T> weight_of(const Rows<T>& a, std::uint64_t j) {
    return a.weights != nullptr ? fp::widen(load_number(a.weights + j)) : fp::Arithmetic<T>{1};
}
/// What there is one of a row, where it is asked for.
template <class T>
__device__ __forceinline__ void put_number(const Rows<T>& a, std::uint64_t row, fp::Arithmetic<T> value,
                                           fp::Arithmetic<T> target_weight) {
    if (a.out != nullptr) {
        if (a.output == dtype_of<T>) {
            static_cast<T*>(a.out)[row] = stored<T>(value);
        } else {
            static_cast<float*>(a.out)[row] = stored<float>(value);
        }
    }
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

template <class T, RowOp Op, bool Aligned>
struct ExpRow {
    using V = fp::Arithmetic<T>;
    using ChunkOf = Chunk<T, Aligned>;
    using Sum = spec::ExpSum<T>;
    using State = spec::ExpState<T>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows;
    static constexpr std::uint32_t tile_items = ChunkOf::Order::tile;
    static constexpr T lowest = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::infinity_bits<T> | fp::sign_mask<T>));

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
    [[nodiscard]] __device__ __forceinline__ int items(std::uint64_t tile) const {
        return static_cast<int>(items_in_tile(tile * tile_items, a.n, tile_items));
    }

    /// Σ of what lanes(tile, sum) finds in each tile.
    template <class F>
    [[nodiscard]] __device__ __forceinline__ V sum(const F& lanes_of) const {
        V lane[K];
        if (a.tiles == 1) {
            lanes_of(std::uint64_t{0}, lane);
            return team_sum<T, K>(lane, s);
        }
        auto* const results = partials<acc::Rounded<V>>();
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            lanes_of(tile, lane);
            const V part = team_sum<T, K>(lane, s);
            if (threadIdx.x == 0) results[tile] = {part};
        }
        sync_team();
        return total_of_tiles<T>(results, a.tiles, s.template upper<acc::Rounded<V>>()).sum;
    }

    /// Of elements as they are, or less `origin`: to the first thread.
    template <bool Plain>
    [[nodiscard]] __device__ __forceinline__ State state_of(const ChunkOf& chunk, std::uint64_t tile, V origin) const {
        V lane[K];
        const auto c = ExpChunk<T, Aligned, Plain>::of(chunk, origin, items(tile), s.own_lane());
        c.add_rows(chunk, lane);
        c.put(lane, s.own_lane());
        return team_state<T, K>(c.greatest, s);
    }
    __device__ __forceinline__ void load(ChunkOf& chunk, std::uint64_t tile) const {
        chunk.load(x + tile * tile_items, items(tile), lowest);
    }
    /// Of the row: to all threads.
    template <bool Plain>
    [[nodiscard]] __device__ __forceinline__ State state(V origin) const {
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            ChunkOf chunk;
            load(chunk, tile);
            if (tile + 1 < a.tiles) ChunkOf::prefetch(x + (tile + 1) * tile_items, items(tile + 1));
            const State part = state_of<Plain>(chunk, tile, origin);
            if (threadIdx.x == 0) {
                if (a.tiles == 1) {
                    s.state = part;
                } else {
                    partials<State>()[tile] = part;
                }
            }
            sync_team(); // the shared memory is used again
        }
        return a.tiles == 1 ? s.state : state_of_results();
    }
    /// Of the results of tiles.
    [[nodiscard]] __device__ __forceinline__ State state_of_results() const {
        return total_of_tiles<T>(partials<State>(), a.tiles, s.template upper<State>());
    }

    [[nodiscard]] __device__ __forceinline__ V greatest() const {
        return greatest_of([](V v) { return v; });
    }
    /// Of f of the elements; NaN, if one is.
    template <class F>
    [[nodiscard]] __device__ __forceinline__ V greatest_of(const F& f) const {
        V most = fp::widen(lowest);
        bool nan = false;
        for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x) {
            const V v = f(fp::widen(load_number(x + i)));
            nan = nan || v != v;
            most = v > most ? v : most;
        }
        most = greatest_of_warp(most);
        if (any_of_warp(nan)) most = spec::quiet_nan<V>;
        if (threadIdx.x % warp_size == 0) s.greatest[threadIdx.x / warp_size] = most;
        sync_team();
        for (std::uint32_t w = 0; w < blockDim.x / warp_size; ++w) {
            const V other = s.greatest[w];
            if (!(other <= most)) most = most != most ? most : other;
        }
        sync_team();
        return most;
    }
    /// Of a row whose elements, as they are, have this state.
    [[nodiscard]] __device__ __forceinline__ Sum sum_of(const State& plain) const {
        return Sum::is_plain(plain) ? Sum::plain(plain) : sum_at_greatest();
    }
    [[nodiscard]] __device__ __noinline__ Sum sum_at_greatest() const {
        const V most = greatest();
        return fp::is_finite(most) ? Sum::of(most, most, state<false>(most).sum) : Sum::special(most);
    }

    [[nodiscard]] __device__ __forceinline__ RowOut<T> out() const { return RowOut<T>::of(a, row); }
    [[nodiscard]] __device__ __forceinline__ V weight(std::uint64_t j) const { return weight_of(a, j); }
    [[nodiscard]] __device__ __forceinline__ V probability(std::uint64_t j) const {
        return fp::widen(load_number(a.probabilities + row * a.probability_stride + j));
    }

    /// What the gradient needs beside the terms.
    struct Slope {
        V of_softmax, own, all, factor;
        V x;                 ///< at the target: the gradient may take the place of the row
        std::int64_t target; ///< −1: classes have probabilities
    };
    /// Of an element, its number and softmax, where all classes count.
    [[nodiscard]] __device__ __forceinline__ V slope(const Sum& e, const Slope& g, V v, V p, std::int64_t j) const {
        const auto i = static_cast<std::uint64_t>(j);
        const bool there = i < a.n; // what is beyond the row is not stored
        const V other = there && a.weights != nullptr ? weight(i) : V{1};
        if (a.probabilities != nullptr) {
            const V own = there ? a.smoothed.coefficient(other, probability(i)) : V{0};
            return spec::slope_of_class(e, v, p, g.all, own) * g.factor;
        }
        if (j == g.target) return a.smoothed.target_slope(p, e.softmax_less_one(v, p), g.all, g.own) * g.factor;
        return a.smoothed.slope(p, g.of_softmax, other) * g.factor;
    }
    [[nodiscard]] __device__ __forceinline__ Slope slope_of_one_class() const {
        const std::int64_t target = a.targets[row];
        const V own = weight(static_cast<std::uint64_t>(target));
        return {own, own, V{1}, a.factor != nullptr ? *a.factor : V{1}, fp::widen(load_number(x + target)), target};
    }
    /// Where all classes count.
    [[nodiscard]] __device__ __forceinline__ Slope slope_of_all() const {
        Slope g{V{1}, V{1}, static_cast<V>(a.n), a.factor != nullptr ? *a.factor : V{1}, V{0}, -1};
        const bool given = a.probabilities != nullptr;
        if (given || (a.weights != nullptr && a.smoothed.at_all != 0)) g.all = sum_of_weights();
        if (given) return g;
        g.target = a.targets[row];
        g.own = weight(static_cast<std::uint64_t>(g.target));
        g.of_softmax = a.smoothed.of_softmax(g.own, g.all);
        return g;
    }
    /// Σ f(j) over all classes.
    template <class F>
    [[nodiscard]] __device__ __forceinline__ V sum_of_classes(const F& f) const {
        return sum([&](std::uint64_t tile, V(&lane)[K]) {
            const int first = ChunkOf::first(), m = items(tile);
            ChunkOf::add_rows(lane, [&](int r, int k) {
                const int i = first + r * ChunkOf::lanes + k;
                return i < m ? f(tile * tile_items + static_cast<std::uint64_t>(i)) : V(-0.0);
            });
        });
    }
    /// Of what the classes count.
    [[nodiscard]] __device__ __forceinline__ V sum_of_weights() const {
        return sum_of_classes([&](std::uint64_t j) {
            return a.probabilities != nullptr ? a.smoothed.coefficient(weight(j), probability(j)) : weight(j);
        });
    }

    /// f(x, its softmax, its number) for each element of the row, which is read again.
    template <class F>
    __device__ __forceinline__ void write_each(const Sum& e, const F& f) const {
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            const auto first = static_cast<std::int64_t>(tile * tile_items);
            ChunkOf chunk;
            chunk.load(x + first, items(tile), lowest);
            ChunkOf::store(out().from(tile * tile_items), items(tile), s.own_lane(), [&](int r, int k) {
                const V v = chunk.at(r, k);
                if constexpr (Op == RowOp::log_softmax) return e.log_softmax(v);
                return f(v, e.softmax(v), first + ChunkOf::first() + r * ChunkOf::lanes + k);
            });
        }
    }
    /// Of one class a row, if it is the gradient.
    __device__ __forceinline__ void write(const Sum& e) const {
        if (e.is_special()) return write_same(spec::quiet_nan<V>);
        if constexpr (Op != RowOp::cross_entropy_gradient) {
            write_each(e, [&](V, V p, std::int64_t) { return p; });
        } else {
            // Every class as if it were not the target, and then that one again, by the thread that
            // has it.
            const Slope g = slope_of_one_class();
            write_each(e, [&](V, V p, std::int64_t) { return g.of_softmax * p * g.factor; });
            const auto in_tile = static_cast<int>(static_cast<std::uint64_t>(g.target) % tile_items);
            if (!Aligned) sync_team(); // another thread may have stored there
            if (ChunkOf::thread_of(in_tile) == static_cast<int>(threadIdx.x)) write_target(e, g);
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
        const Slope g = slope_of_all();
        write_each(e, [&](V v, V p, std::int64_t j) { return slope(e, g, v, p, j); });
    }
    __device__ void write_same(V value) const {
        for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x)
            out().put(i, value);
    }

    /// −log_softmax of element i.
    [[nodiscard]] __device__ __forceinline__ V neg_log_prob_at(const Sum& e, std::uint64_t i) const {
        return e.neg_log_prob(fp::widen(load_number(x + i)));
    }
    [[nodiscard]] __device__ __forceinline__ V sum_of_neg_log_probs(const Sum& e) const {
        return sum_of_classes([&](std::uint64_t j) {
            const V s = neg_log_prob_at(e, j), w = weight(j);
            return a.probabilities != nullptr ? a.smoothed.loss_of_class(s, w, probability(j)) : w * s;
        });
    }
    __device__ __forceinline__ void put(V value, V target_weight) const {
        if (threadIdx.x == 0) put_number(a, row, value, target_weight);
    }
    __device__ __forceinline__ void put_entropy(const Sum& e, V of_all) const {
        if (a.probabilities != nullptr) return put(of_all, V{1});
        if (threadIdx.x == 0) put_entropy_of_target(a, row, e, target_of(a, row), of_all);
    }
    /// By one thread.
    static __device__ __forceinline__ void put_entropy_of_target(const Rows<T>& a, std::uint64_t row, const Sum& e,
                                                                 const RowTarget<V>& target, V of_all) {
        put_number(a, row, a.smoothed.loss(e.neg_log_prob(target.x), target.weight, of_all), target.weight);
    }
    /// logsumexp, or the cross entropy of one class: by one thread.
    static __device__ __forceinline__ void put_one(const Rows<T>& a, std::uint64_t row, const Sum& e,
                                                   const RowTarget<V>& target) {
        if (!a.entropy) return put_number(a, row, e.logsumexp(), V{0});
        if (!target.there) return put_number(a, row, target.weight, target.weight);
        put_entropy_of_target(a, row, e, target, V{0});
    }

    /// Rows without a class to be told from others; true if that is what this one is.
    [[nodiscard]] __device__ __forceinline__ bool without_class() const {
        if (a.probabilities != nullptr) return false;
        const auto c = spec::RowClass<V>::of(a.targets[row], a.ignore_index, a.n);
        if (c.there) return false;
        if constexpr (Op == RowOp::logsumexp) {
            put(c.otherwise, c.otherwise);
        } else {
            write_same(c.otherwise);
        }
        return true;
    }

    __device__ __forceinline__ void finish(const Sum& e) const {
        if constexpr (Op == RowOp::logsumexp) {
            if (a.entropy) return put_entropy(e, a.all_classes ? sum_of_neg_log_probs(e) : V{0});
            put(e.logsumexp(), V{0});
        } else {
            write(e);
        }
    }
};

/// The teams of a block, each with shared memory of its own.
template <class Memory>
struct Teams {
    std::uint32_t bytes;

    [[nodiscard]] __device__ __forceinline__ Memory& memory(std::uint32_t team) const {
        return *reinterpret_cast<Memory*>(reinterpret_cast<char*>(shared_of_launch()) + team * bytes);
    }
    /// f(the memory of a team, its number), by one thread for each team, of one warp where they are
    /// many: what a thread does for a row takes long, and so it is done for all rows at once. What
    /// the teams wrote before is seen by f, and what f writes by the teams.
    template <class F>
    __device__ __forceinline__ void for_each(const F& f) const {
        __syncthreads();
        const std::uint32_t team = threadIdx.y * blockDim.x + threadIdx.x;
        if (team < blockDim.y) f(memory(team), team);
        __syncthreads();
    }
};

/// A team a row: one, which may be none of those that there are, or, where Op::repeats, one after
/// the other. `blocks`: of 256 threads, on a multiprocessor.
template <class Op>
__global__ void __launch_bounds__(most_warps* warp_size, Op::blocks)
    rows_kernel(const __grid_constant__ typename Op::Arguments a, std::uint32_t team_bytes) {
    const Teams<typename Op::Memory> teams{team_bytes};
    std::uint64_t row = a.first_row + std::uint64_t{blockIdx.x} * blockDim.y + threadIdx.y;
    if constexpr (Op::repeats) {
        for (; row < a.rows; row += std::uint64_t{gridDim.x} * blockDim.y) {
            Op::run(a, row, teams.memory(threadIdx.y));
            sync_team(); // the shared memory is used again
        }
    } else { // in a loop of one round the compiler would keep in memory what is the same in all rounds
        Op::run(a, row, teams);
    }
}

/// A row of more than one tile, or one of which all classes count, from the beginning.
template <class T, RowOp Op, bool Aligned>
struct LongExpRow {
    using Arguments = Rows<T>;
    using Memory = Shared<T>;
    static constexpr int blocks = policy::long_row_blocks_at_once;
    static constexpr bool repeats = true;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, Memory& shared) {
        using Row = ExpRow<T, Op, Aligned>;
        using V = fp::Arithmetic<T>;
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, blockIdx.x};
        if ((Op == RowOp::cross_entropy_gradient || (Op == RowOp::logsumexp && a.entropy)) && block.without_class())
            return; // all threads, or none
        const auto e = block.sum_of(block.template state<true>(V{0}));
        if (Op == RowOp::cross_entropy_gradient && a.all_classes) return block.write_slopes(e);
        block.finish(e);
    }
};

/// A tile of a row of more of them: its state, to where the row's are. `a.rows` are all tiles.
template <class T, bool Aligned>
struct ExpTileOfRow {
    using Arguments = Rows<T>;
    using Memory = Shared<T>;
    static constexpr int blocks = blocks_of_rows<T>;
    static constexpr bool repeats = false;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t i, const Teams<Memory>& teams) {
        if (i >= a.rows) return;
        Memory& shared = teams.memory(threadIdx.y);
        using Row = ExpRow<T, RowOp::logsumexp, Aligned>;
        using V = fp::Arithmetic<T>;
        const std::uint64_t row = i / a.tiles, tile = i % a.tiles;
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, row};
        typename Row::ChunkOf chunk;
        block.load(chunk, tile);
        const auto part = block.template state_of<true>(chunk, tile, V{0});
        if (threadIdx.x == 0) block.template partials<typename Row::State>()[tile] = part;
    }
};
/// And what becomes of the row, of no more tiles than a warp has threads, where not all classes
/// count: a warp a row. The state of the row takes the place of its first tile's.
template <class T>
struct ExpRowOfFewTiles {
    using Arguments = Rows<T>;
    using Memory = Shared<T>;
    static constexpr int blocks = policy::exp_row_blocks;
    static constexpr bool repeats = false;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, const Teams<Memory>& teams) {
        using Row = ExpRow<T, RowOp::logsumexp, false>;
        using State = typename Row::State;
        Memory& shared = teams.memory(threadIdx.y);
        const Row team{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, row};
        const bool there = row < a.rows;
        auto* const tiles = team.template partials<State>();
        State state = State::identity();
        if (there && threadIdx.x < a.tiles) state = load_item<Source::partials>(tiles + threadIdx.x);
        typename Row::Target target{};
        if (a.entropy && there && threadIdx.x == 0) target = target_of(a, row);
#pragma unroll
        for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
            // Beyond the tiles all are identities, which change no row that is not special.
            if (static_cast<std::uint64_t>(distance) < a.tiles) state.merge(shuffle_down(state, distance));
        }
        if (threadIdx.x == 0) {
            shared.state = state;
            shared.target = target;
            if (there) tiles[0] = state;
        }
        teams.for_each([&](Memory& memory, std::uint32_t number) {
            const std::uint64_t its_row = row - threadIdx.y + number;
            if (its_row < a.rows && Row::Sum::is_plain(memory.state))
                Row::put_one(a, its_row, Row::Sum::plain(memory.state), memory.target);
        });
    }
};
/// And of those whose elements are not taken as they are, which are looked for in as many rows at
/// once as a block has threads: a.rows are such groups.
template <class T>
struct SpecialExpRows {
    struct Arguments : Rows<T> {
        std::uint64_t all_rows;
    };
    using Memory = Shared<T>;
    static constexpr std::uint32_t together = most_warps * warp_size;
    static constexpr int blocks = policy::long_row_blocks_at_once;
    static constexpr bool repeats = true;
    using Row = ExpRow<T, RowOp::logsumexp, false>;

    static __device__ __forceinline__ void run(const Arguments& a, std::uint64_t group, Memory& shared) {
        const std::uint64_t first = group * together, own = first + threadIdx.x;
        if (__syncthreads_or(own < a.all_rows && is_special(a, own)) == 0) return;
        for (std::uint64_t row = first; row < first + together && row < a.all_rows; ++row) {
            const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, row};
            if (!is_special(a, row) || (a.entropy && block.without_class())) continue; // all threads, or none
            block.finish(block.sum_at_greatest());
            __syncthreads(); // the shared memory is used again
        }
    }
    [[nodiscard]] static __device__ __forceinline__ bool is_special(const Arguments& a, std::uint64_t row) {
        using State = typename Row::State;
        return !Row::Sum::is_plain(
            load_item<Source::partials>(reinterpret_cast<const State*>(a.partials + row * a.pitch)));
    }
};
/// What becomes of a row of any number of tiles.
template <class T>
struct ExpRowOfTiles {
    using Arguments = Rows<T>;
    using Memory = Shared<T>;
    static constexpr int blocks = policy::long_row_blocks_at_once;
    static constexpr bool repeats = true;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, Memory& shared) {
        using Row = ExpRow<T, RowOp::logsumexp, false>;
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, row};
        if (a.entropy && block.without_class()) return; // all threads, or none
        block.finish(block.sum_of(block.state_of_results()));
    }
};

/// What is left of a row whose elements are not taken as they are. Not inlined, so that its
/// registers are not asked for where it is not run.
template <class T, RowOp Op, bool Aligned>
__device__ __noinline__ void row_again(const Rows<T>* a, std::uint64_t row, Shared<T>* s) {
    using Row = ExpRow<T, Op, Aligned>;
    const Row block{*a, a->x + static_cast<std::int64_t>(row * a->stride), row, *s, blockIdx.x};
    if (Op == RowOp::logsumexp && a->entropy && block.without_class()) return; // all threads, or none
    block.finish(block.sum_at_greatest());
}

/// The gradient's element at the target, without smoothing.
template <class T, bool Aligned>
__device__ __noinline__ void slope_of_target(const Rows<T>* a, std::uint64_t row, Shared<T>* s,
                                             typename ExpRow<T, RowOp::cross_entropy_gradient, Aligned>::Slope g) {
    using Row = ExpRow<T, RowOp::cross_entropy_gradient, Aligned>;
    const Row block{*a, a->x + static_cast<std::int64_t>(row * a->stride), row, *s, blockIdx.x};
    block.write_target(s->sum, g);
}

/// logsumexp and cross entropy, softmax, log_softmax and the gradient of cross entropy, of one
/// class a row, of rows of at most one tile, which stay in registers: as terms, or, for
/// log_softmax, as elements.
template <class T, RowOp Op, bool Aligned>
struct ShortExpRow {
    using Arguments = Rows<T>;
    using Memory = Shared<T>;
    static constexpr bool keeps_terms = Op == RowOp::softmax || Op == RowOp::cross_entropy_gradient;
    static constexpr int blocks = keeps_terms || fp::is_f64<T> ? blocks_of_rows<T> : policy::exp_row_blocks_f32;
    static constexpr bool repeats = false;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, const Teams<Memory>& teams) {
        using V = fp::Arithmetic<T>;
        using Row = ExpRow<T, Op, Aligned>;
        using ChunkOf = Chunk<T, Aligned>;
        using Sum = typename Row::Sum;
        constexpr int K = ChunkOf::K;
        Memory& shared = teams.memory(threadIdx.y);
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, blockIdx.x};
        bool there = row < a.rows;
        const int m = there ? static_cast<int>(a.n) : 0;
        ChunkOf chunk;
        V term[ChunkOf::rows][K], lane[K];
        chunk.load(block.x, m, Row::lowest);
        // What the target says is loaded beside the row.
        typename Row::Slope g{};
        if (Op == RowOp::cross_entropy_gradient && there) {
            there = !block.without_class(); // all of the team, or none
            if (there) g = block.slope_of_one_class();
        }
        RowTarget<V> target{};
        if (Op == RowOp::logsumexp && a.entropy && there && threadIdx.x == 0) target = target_of(a, row);
        const auto c = ExpChunk<T, Aligned, true>::of(chunk, V{0}, m, shared.own_lane());
        if constexpr (keeps_terms) {
            c.add_rows(
                chunk, lane,
                [&](int r, int k, const auto& t, V sum) {
                    term[r][k] = t.value();
                    return sum + term[r][k];
                },
                // Not undefined, for then the compiler keeps what was there before.
                [&](int r, int k) { term[r][k] = 0; });
        } else {
            c.add_rows(chunk, lane);
        }
        c.put(lane, shared.own_lane());
        const auto state = team_state<T, K>(c.greatest, shared);
        if (threadIdx.x == 0) {
            shared.state = state;
            if (Op == RowOp::logsumexp) shared.target = target;
        }
        teams.for_each([&](Memory& memory, std::uint32_t team) {
            if (!Sum::is_plain(memory.state)) return;
            if constexpr (Op == RowOp::logsumexp) {
                const std::uint64_t its_row = row - threadIdx.y + team;
                if (its_row < a.rows) Row::put_one(a, its_row, Sum::plain(memory.state), memory.target);
            } else {
                memory.sum = Sum::plain(memory.state, !keeps_terms);
            }
        });
        if (!there) return;
        if (!Sum::is_plain(shared.state)) {
            row_again<T, Op, Aligned>(&a, row, &shared);
            return;
        }
        if constexpr (Op == RowOp::logsumexp) {
            return;
        } else if constexpr (Op == RowOp::log_softmax) {
            const Sum e = shared.sum;
            ChunkOf::template store<false>(block.out(), m, shared.own_lane(),
                                           [&](int r, int k) { return e.log_softmax(chunk.at(r, k)); });
        } else {
            // A term that is inexact relative to the row's greatest element has a softmax of 0, as
            // it has in the text.
            const V most = shared.sum.greatest, reciprocal = shared.sum.reciprocal;
            const auto scale = spec::ExpScale<V>::of(spec::exp_exponent(most) - spec::exp_exponent(c.greatest));
            V factor = scale.of_sum(reciprocal);
            if (!(factor >= least_normal<V>)) { // all of the warp, or none
                factor = reciprocal;
#pragma unroll
                for (int r = 0; r < ChunkOf::rows; ++r) {
#pragma unroll
                    for (int k = 0; k < K; ++k)
                        term[r][k] = scale.of_sum(term[r][k]);
                }
            }
            if constexpr (Op == RowOp::softmax) {
                ChunkOf::template store<false>(block.out(), m, shared.own_lane(),
                                               [&](int r, int k) { return term[r][k] * factor; });
            } else {
                // Every class as if it were not the target, and then that one again, by the thread
                // that has it.
                ChunkOf::store(block.out(), m, shared.own_lane(),
                               [&](int r, int k) { return g.of_softmax * (term[r][k] * factor) * g.factor; });
                // (In a function that is not inlined, so that the compiler does not take its store
                // for one of something else.)
                if (!Aligned) sync_team(); // another thread may have stored there
                if (ChunkOf::thread_of(static_cast<int>(g.target)) == static_cast<int>(threadIdx.x))
                    slope_of_target<T, Aligned>(&a, row, &shared, g);
            }
        }
    }
};

} // namespace detreduce::cuda::row_kernels
