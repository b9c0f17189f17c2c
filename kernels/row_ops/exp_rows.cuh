// logsumexp, softmax, log_softmax, cross entropy and its gradient: a block a row. The terms are first added up with 0 for reference, so that a row is read
// once; where that sum is not usable (spec/exp_term.hpp), which is rare, the row is read again, for its greatest element and for the sum relative to that.
#pragma once

#include "row_ops/chunk.cuh"

namespace detreduce::cuda::row_kernels {

/// The levels above the tiles of a row, whose results the block has left at `items`: to all threads.
template <class T>
__device__ __noinline__ fp::Arithmetic<T> sum_of_tiles(fp::Arithmetic<T>* items, std::uint64_t m, Shared<T>& s) {
    using V = fp::Arithmetic<T>;
    using Partial = PartialLevel<acc::Rounded<V>>;
    constexpr std::uint32_t tile_items = Partial::Order::tile;
    auto* level = reinterpret_cast<acc::Rounded<V>*>(items);
    while (m > 1) {
        const std::uint64_t tiles = spec::tiles(m, tile_items);
        auto* const above = level + (m + 3) / 4 * 4;
        for (std::uint64_t t = 0; t < tiles; ++t) {
            const auto sum = reduce_tile_by_team<Partial, most_warps>(
                level + t * tile_items, items_in_tile(t * tile_items, m, tile_items), s.upper);
            if (threadIdx.x == 0) above[t] = sum;
            __syncthreads(); // the buffer is used again, and the level above is read
        }
        level = above;
        m = tiles;
    }
    return load_item<Source::partials>(level).sum;
}

/// The terms of a thread's elements as they are, and their sums, lane by lane; which of the two is wanted besides, the terms or the elements, is left.
template <bool KeepTerms, class T, bool Aligned, class V, int Rows, int K>
__device__ __forceinline__ V (&terms_at_zero(const Chunk<T, Aligned>& chunk, V (&term)[Rows][K], V (&lane)[K]))[K] {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        Chunk<T, Aligned> clamped;
        clamped.packs[r] = chunk.packs[r];
        clamp(clamped.packs[r]);
#pragma unroll
        for (int k = 0; k < K; ++k) {
            V z = clamped.at(r, k);
            if constexpr (!(clamps_pairs && fp::is_narrow<T>)) z = spec::within_exp_terms(z);
            const auto t = spec::exp_term_within<T>(z);
            if constexpr (KeepTerms) {
                term[r][k] = t.value();
                lane[k] = r == 0 ? term[r][k] : lane[k] + term[r][k];
            } else {
                lane[k] = r == 0 ? t.value() : t.added_to(lane[k]);
            }
        }
    }
    return lane;
}

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

/// Blocks on a multiprocessor.
template <class T>
inline constexpr int blocks_of_rows = fp::is_f32<T> ? policy::exp_row_blocks_f32 : policy::exp_row_blocks;

template <class T, RowOp Op, bool Aligned>
struct ExpRow {
    using V = fp::Arithmetic<T>;
    using ChunkOf = Chunk<T, Aligned>;
    using Sum = spec::ExpSum<V>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows;
    static constexpr std::uint32_t tile_items = ChunkOf::Order::tile;
    static constexpr T lowest = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::infinity_bits<T> | fp::sign_mask<T>));

    const Rows<T>& a;
    const T* x;
    std::uint64_t row;
    Shared<T>& s;
    std::uint32_t writer = 0; ///< the thread that writes what there is one of a row

    [[nodiscard]] __device__ __forceinline__ V* partials() const { return a.partials + blockIdx.x * a.pitch; }
    [[nodiscard]] __device__ __forceinline__ int items(std::uint64_t tile) const {
        return static_cast<int>(items_in_tile(tile * tile_items, a.n, tile_items));
    }

    /// Σ of what lanes(tile, sum) finds in each tile.
    template <class F>
    [[nodiscard]] __device__ __forceinline__ V sum(const F& lanes_of) const {
        V lane[K];
        if (a.tiles == 1) {
            lanes_of(std::uint64_t{0}, lane);
            return block_sum<T, K>(lane, s);
        }
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            lanes_of(tile, lane);
            const V part = block_sum<T, K>(lane, s);
            if (threadIdx.x == 0) partials()[tile] = part;
        }
        __syncthreads();
        return sum_of_tiles<T>(partials(), a.tiles, s);
    }

    /// Σ of terms relative to `reference`.
    [[nodiscard]] __device__ __forceinline__ V sum_of_terms(V reference) const {
        return sum([&](std::uint64_t tile, V(&lane)[K]) {
            ChunkOf chunk;
            chunk.load(x + tile * tile_items, items(tile), lowest);
            ChunkOf::add_rows(lane,
                              [&](int r, int k) { return spec::exp_term<T>(chunk.at(r, k) - reference).value(); });
        });
    }

    [[nodiscard]] __device__ __forceinline__ V greatest() const {
        V most = fp::widen(lowest);
        bool nan = false;
        for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x) {
            const V v = fp::widen(load_number(x + i));
            nan = nan || v != v;
            most = v > most ? v : most;
        }
#pragma unroll
        for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
            const V other = shuffle_xor(most, distance);
            most = other > most ? other : most;
        }
        if (any_of_warp(nan)) most = spec::quiet_nan<V>;
        if (threadIdx.x % warp_size == 0) s.greatest[threadIdx.x / warp_size] = most;
        __syncthreads();
        for (std::uint32_t w = 0; w < blockDim.x / warp_size; ++w) {
            const V other = s.greatest[w];
            if (!(other <= most)) most = most != most ? most : other;
        }
        __syncthreads();
        return most;
    }
    [[nodiscard]] __device__ __forceinline__ Sum sum_at_greatest() const {
        const V most = greatest();
        return fp::is_finite(most) ? Sum::of(most, sum_of_terms(most)) : Sum::special(most);
    }

    [[nodiscard]] __device__ __forceinline__ RowOut<T> out() const {
        return RowOut<T>::of(a, row);
    }
    [[nodiscard]] __device__ __forceinline__ V weight(std::uint64_t j) const {
        return weight_of(a, j);
    }
    [[nodiscard]] __device__ __forceinline__ V probability(std::uint64_t j) const {
        return fp::widen(load_number(a.probabilities + row * a.probability_stride + j));
    }

    /// What the gradient needs beside the terms.
    struct Slope {
        V reciprocal, of_softmax, own, factor;
        std::int64_t target;
    };
    [[nodiscard]] __device__ __forceinline__ V slope(const Slope& g, V term, std::int64_t j) const {
        const auto i = static_cast<std::uint64_t>(j);
        const bool there = a.all_classes && i < a.n; // what is beyond the row is not stored
        const V other = there && a.weights != nullptr ? weight(i) : V{1};
        V subtracted = a.smoothed.subtracted(j == g.target, g.own, other);
        if (there && a.probabilities != nullptr) subtracted = a.smoothed.coefficient(other, probability(i));
        return spec::cross_entropy_slope(term * g.reciprocal, g.of_softmax, subtracted, g.factor);
    }
    [[nodiscard]] __device__ __forceinline__ Slope slope_of_one_class(V reciprocal) const {
        const std::int64_t target = a.targets[row];
        const V own = weight(static_cast<std::uint64_t>(target));
        return {reciprocal, own, own, a.factor != nullptr ? *a.factor : V{1}, target};
    }
    /// Where all classes count.
    [[nodiscard]] __device__ __forceinline__ Slope slope_of(V reciprocal) const {
        Slope g{reciprocal, V{1}, V{1}, a.factor != nullptr ? *a.factor : V{1}, -1};
        const bool given = a.probabilities != nullptr;
        V all = static_cast<V>(a.n);
        if (given || (a.weights != nullptr && a.smoothed.at_all != 0)) all = sum_of_weights();
        if (!given) {
            g.target = a.targets[row];
            g.own = weight(static_cast<std::uint64_t>(g.target));
        }
        g.of_softmax = given ? all : a.smoothed.of_softmax(g.own, all);
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

    /// f(term or z, where it is in the row) for each element of the row, which is read again.
    template <class F>
    __device__ __forceinline__ void write_each(const Sum& e, const F& f) const {
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            const auto first = static_cast<std::int64_t>(tile * tile_items);
            ChunkOf chunk;
            chunk.load(x + first, items(tile), lowest);
            ChunkOf::store(out().from(tile * tile_items), items(tile), [&](int r, int k) {
                const V z = chunk.at(r, k) - e.reference;
                if constexpr (Op == RowOp::log_softmax) return e.log_softmax(z);
                return f(spec::exp_term<T>(z).value(), first + ChunkOf::first() + r * ChunkOf::lanes + k);
            });
        }
    }
    /// Of one class a row, if it is the gradient.
    __device__ __forceinline__ void write(const Sum& e) const {
        if (e.is_special()) return write_same(spec::quiet_nan<V>);
        if constexpr (Op != RowOp::cross_entropy_gradient) {
            write_each(e, [&](V term, std::int64_t) { return term * e.reciprocal; });
        } else {
            // Every class as if it were not the target, from which nothing is subtracted, and then that one again, by the thread that has it.
            const Slope g = slope_of_one_class(e.reciprocal);
            write_each(e, [&](V term, std::int64_t) { return term * g.reciprocal * g.of_softmax * g.factor; });
            const auto in_tile = static_cast<int>(static_cast<std::uint64_t>(g.target) % tile_items);
            if (ChunkOf::thread_of(in_tile) == static_cast<int>(threadIdx.x)) write_target(g, e.reference);
        }
    }
    /// Not inlined, so that the compiler does not take its store for one of something else than the store of 16 bytes before it.
    __device__ __noinline__ void write_target(const Slope& g, V reference) const {
        const V z = fp::widen(load_number(x + g.target)) - reference;
        out().put(static_cast<std::uint64_t>(g.target), slope(g, spec::exp_term<T>(z).value(), g.target));
    }
    /// The gradient, where all classes count. Not inlined: where they do not, its registers are not asked for.
    __device__ __noinline__ void write_slopes(const Sum& e) const {
        if (e.is_special()) return write_same(spec::quiet_nan<V>);
        const Slope g = slope_of(e.reciprocal);
        write_each(e, [&](V term, std::int64_t j) { return slope(g, term, j); });
    }
    __device__ void write_same(V value) const {
        for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x)
            out().put(i, value);
    }

    /// −log_softmax of element i.
    [[nodiscard]] __device__ __forceinline__ V surprise(const Sum& e, std::uint64_t i) const {
        return -e.log_softmax(fp::widen(load_number(x + i)) - e.reference);
    }
    [[nodiscard]] __device__ __forceinline__ V sum_of_surprises(const Sum& e) const {
        return sum_of_classes([&](std::uint64_t j) {
            const V s = surprise(e, j), w = weight(j);
            return a.probabilities != nullptr ? a.smoothed.loss_of_class(s, w, probability(j)) : w * s;
        });
    }
    __device__ __forceinline__ void put(V value, V target_weight) const {
        if (threadIdx.x == writer) put_number(a, row, value, target_weight);
    }
    __device__ __forceinline__ void put_entropy(const Sum& e, V of_all) const {
        if (a.probabilities != nullptr) return put(of_all, V{1});
        const auto target = static_cast<std::uint64_t>(a.targets[row]);
        const V own = weight(target);
        put(a.smoothed.loss(surprise(e, target), own, of_all), own);
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

    /// By one thread: no smoothing.
    __device__ __forceinline__ void finish_alone(const Sum& e) const {
        if (a.entropy) return put_entropy(e, V{0});
        put(e.logsumexp(), V{0});
    }
    __device__ __forceinline__ void finish(const Sum& e) const {
        if constexpr (Op == RowOp::logsumexp) {
            if (a.entropy) return put_entropy(e, a.all_classes ? sum_of_surprises(e) : V{0});
            put(e.logsumexp(), V{0});
        } else {
            write(e);
        }
    }
};

/// A block a row, one row after the other. `blocks`: of 256 threads, on a multiprocessor.
template <class Op>
__global__ void __launch_bounds__(most_warps* warp_size, Op::blocks)
    rows_kernel(const __grid_constant__ typename Op::Arguments a) {
    __shared__ typename Op::Memory memory;
    for (std::uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        Op::run(a, row, memory);
        __syncthreads(); // the shared memory is used again
    }
}

/// A row of more than one tile, or one of which all classes count, from the beginning.
template <class T, RowOp Op, bool Aligned>
struct LongExpRow {
    using Arguments = Rows<T>;
    using Memory = Shared<T>;
    static constexpr int blocks = policy::long_row_blocks_at_once;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, Memory& shared) {
        using Row = ExpRow<T, Op, Aligned>;
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared};
        if (Op == RowOp::cross_entropy_gradient && block.without_class()) return; // all threads, or none
        const auto total = block.sum_of_terms(0);
        const auto e = spec::usable(total) ? Row::Sum::of(0, total) : block.sum_at_greatest();
        if (Op == RowOp::cross_entropy_gradient && a.all_classes) return block.write_slopes(e);
        block.finish(e);
    }
};

/// What is left of a row that has `sum` relative to 0, if that is usable. Not inlined, so that its registers are not asked for where it is not run.
template <class T, RowOp Op, bool Aligned>
__device__ __noinline__ void row_again(const Rows<T>* a, std::uint64_t row, Shared<T>* s, fp::Arithmetic<T> sum) {
    using Row = ExpRow<T, Op, Aligned>;
    const Row block{*a, a->x + static_cast<std::int64_t>(row * a->stride), row, *s};
    block.finish(spec::usable(sum) ? Row::Sum::of(0, sum) : block.sum_at_greatest());
}

/// The gradient's element at the target, without smoothing.
template <class T, bool Aligned>
__device__ __noinline__ void slope_of_target(const Rows<T>* a, std::uint64_t row, fp::Arithmetic<T> sum) {
    using V = fp::Arithmetic<T>;
    const std::int64_t target = a->targets[row];
    const V x = fp::widen(load_number(a->x + static_cast<std::int64_t>(row * a->stride) + target));
    const V weight = weight_of(*a, static_cast<std::uint64_t>(target));
    const V slope = spec::cross_entropy_slope(spec::exp_term<T>(x).value() * (V{1} / sum), weight, weight,
                                              a->factor != nullptr ? *a->factor : V{1});
    RowOut<T>::of(*a, row).put(static_cast<std::uint64_t>(target), slope);
}

/// softmax, log_softmax and the gradient of cross entropy, of one class a row, of rows of at most one tile, which stay in registers: as terms, or, for log_softmax, as elements.
template <class T, RowOp Op, bool Aligned>
struct ShortExpRow {
    using Arguments = Rows<T>;
    using Memory = Shared<T>;
    static constexpr int blocks = blocks_of_rows<T>;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, Memory& shared) {
        using V = fp::Arithmetic<T>;
        using Row = ExpRow<T, Op, Aligned>;
        using ChunkOf = Chunk<T, Aligned>;
        constexpr int K = ChunkOf::K;
        const int m = static_cast<int>(a.n);
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared};
        if (Op == RowOp::cross_entropy_gradient && block.without_class()) return; // all threads, or none
        ChunkOf chunk;
        V term[ChunkOf::rows][K], lane[K];
        chunk.load(block.x, m, Row::lowest);
        const V total = block_sum<T, K>(terms_at_zero<Op != RowOp::log_softmax>(chunk, term, lane), shared);
        if (!spec::usable(total)) {
            row_again<T, Op, Aligned>(&a, row, &shared, total);
        } else if constexpr (Op == RowOp::log_softmax) {
            const auto e = Row::Sum::of(0, total);
            ChunkOf::store(block.out(), m, [&](int r, int k) { return e.log_softmax(chunk.at(r, k)); });
        } else if constexpr (Op == RowOp::softmax) {
            const V reciprocal = V{1} / total;
            ChunkOf::store(block.out(), m, [&](int r, int k) { return term[r][k] * reciprocal; });
        } else {
            // Every class as if it were not the target, and then that one again, by the thread that has it.
            const auto target = static_cast<int>(a.targets[row]);
            const V reciprocal = V{1} / total, of_softmax = block.weight(static_cast<std::uint64_t>(target)),
                    factor = a.factor != nullptr ? *a.factor : V{1};
            ChunkOf::store(block.out(), m, [&](int r, int k) { return term[r][k] * reciprocal * of_softmax * factor; });
            // (In a function that is not inlined, so that the compiler does not take its store for one of something else.)
            if (ChunkOf::thread_of(target) == static_cast<int>(threadIdx.x))
                slope_of_target<T, Aligned>(&a, row, total);
        }
    }
};

} // namespace detreduce::cuda::row_kernels
