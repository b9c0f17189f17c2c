// Gradients of row ops (spec/row_grads.hpp): a team a row, or a cluster, a block a tile. x and
// upstream stay in registers; longer rows are a block's, and are read twice. A warp has
// read the elements that it writes before it writes them, so that results may be written over them.
#pragma once

#include <detreduce/spec/row_grads.hpp>

#include "row_ops/exp_rows.cuh"

namespace detreduce::cuda::row_kernels {

/// What gradients are told beside rows.
template <class T>
struct GradRows : Rows<T> {
    const T* upstream; ///< of what has n elements a row there
    std::uint64_t upstream_stride;
    fp::Arithmetic<T>* terms; ///< for sums over the rows: n a row, or null
    bool beside_sums;         ///< the kernel of these sums may still run
};

/// What a thread holds of a tile: its elements of x and of upstream, and, in shared memory, those
/// of scale.
template <class T, class G, bool Aligned, int Count>
struct GradChunk {
    using V = fp::Arithmetic<T>;
    using ChunkOf = Chunk<T, Aligned, Count>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows, lanes = ChunkOf::lanes;
    using Scales = SharedWords<T, ChunkOf>;
    ChunkOf x, upstream;
    Scales scales;
    bool scaled;
    int own;        ///< elements from the thread's first on to the end of the tile
    int rows_there; ///< of the warp's chunk

    /// `end`: of the team's memory.
    __device__ __forceinline__ GradChunk(const GradRows<T>& a, std::uint64_t row, std::uint64_t first, int m, char* end)
        : scales(end), scaled(G::of_norm && a.scale != nullptr) {
        own = m - ChunkOf::first();
        const int left = m - static_cast<int>(threadIdx.x) / warp_size * (rows * lanes);
        rows_there = left <= 0 ? 0 : (left + lanes - 1) / lanes;
        x.template load<false, G::of_norm>(a.x + static_cast<std::int64_t>(row * a.stride + first), m, T{});
        // Between the two: behind both f64 is up to 19 % slower, before both all else is up to 4 %.
        if (scaled) scales.copy(a.scale + first, m);
        if (G::of_norm) end_copies();
        upstream.template load<false, G::of_norm>(
            a.upstream + static_cast<std::int64_t>(row * a.upstream_stride + first), m, T{});
    }

    /// f(k, the element) for all of row r, which may be beyond the tile.
    template <class F>
    __device__ __forceinline__ void each_of_row(int r, const F& f) const {
        typename ChunkOf::Words scale{};
        if (scaled) scale = scales.at(r);
#pragma unroll
        for (int k = 0; k < K; ++k)
            f(k, row_grads::At<V>{x.at(r, k), upstream.at(r, k), scaled ? ChunkOf::number(scale, k) : V{1}});
    }
    /// The lanes' sums of the terms.
    __device__ __forceinline__ void add_terms(const row_grads::RowOf<V>& row, V (&sum)[G::sums][K]) const {
        if (G::of_norm) wait_for_copies();
#pragma unroll
        for (int k = 0; k < K; ++k) {
#pragma unroll
            for (int i = 0; i < G::sums; ++i)
                sum[i][k] = V(-0.0);
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (r >= rows_there) continue; // all threads of a warp, or none
            each_of_row(r, [&](int k, const row_grads::At<V>& e) {
                const bool there = r * lanes + k < own;
                sum[0][k] = sum[0][k] + (there ? G::template term<0>(row, e) : V(-0.0));
                if constexpr (G::sums == 2) sum[1][k] = sum[1][k] + (there ? G::template term<1>(row, e) : V(-0.0));
            });
        }
    }
    /// f(the element), to where it belongs in the m results of the tile at `out`.
    template <class F>
    __device__ __forceinline__ void store(const RowOut<T>& out, int m, V* space, const F& f) const {
        V value[K];
        if (G::of_norm) wait_for_copies();
        ChunkOf::store(out, m, space, [&](int r, int k) {
            if (k == 0) each_of_row(r, [&](int i, const row_grads::At<V>& e) { value[i] = f(e); });
            return value[k];
        });
    }
};

/// Blocks on a multiprocessor. Count: as Chunk says.
template <int Count>
inline constexpr int blocks_of_gradients =
    Count == spec::rows_per_chunk ? policy::grad_row_blocks : policy::half_grad_row_blocks;

/// With the lanes of each sum, and scales behind.
template <class T, class G, int Count>
struct GradMemory : Shared<T> {
    [[nodiscard]] static constexpr std::size_t bytes(std::uint32_t warps, bool has_levels) {
        const std::size_t of_scales = G::of_norm ? warps * SharedWords<T, Chunk<T, true, Count>>::bytes_of_warp : 0;
        return (Shared<T>::bytes(G::sums * warps, has_levels) + 15) / 16 * 16 + of_scales;
    }
};

/// Of softmax, log_softmax and norms. Long: of rows of more tiles than a cluster has blocks.
template <class T, class G, bool Aligned, bool Long, int Count = spec::rows_per_chunk>
struct GradRow : RowKernel<T, Long, blocks_of_gradients<Count>, GradRows<T>> {
    using V = fp::Arithmetic<T>;
    using Elements = GradChunk<T, G, Aligned, Count>;
    static constexpr int K = Elements::K;
    static constexpr std::uint32_t tile_items = Chunk<T, Aligned>::Order::tile;
    using SumsOf = Sums<V, G::sums>;
    using Memory = GradMemory<T, G, Count>;
    static constexpr std::size_t bytes_of_long = Memory::bytes(most_warps, true);

    /// A tile. A team is on its own.
    static __device__ __forceinline__ void run(const GradRows<T>& a, std::uint64_t row, const Teams<Memory>& teams) {
        if (row >= a.rows) return;
        Shared<T>& shared = teams.memory(threadIdx.y);
        const auto of = kept(a, row);
        const std::uint32_t tile = cluster_rank();
        const int m = items_of(a, tile);
        const Elements elements(a, row, tile * tile_items, m, reinterpret_cast<char*>(&shared) + teams.bytes);
        Chunk<T, Aligned>::prefetch_ahead(a, a.x, a.stride, row, tile * tile_items);
        Chunk<T, Aligned>::prefetch_ahead(a, a.upstream, a.upstream_stride, row, tile * tile_items);
        // The minimum of addresses costs nothing here, as blocks wait late.
        if (a.tiles > 1) Cluster<false>::begin<false>(teams.memory(0).arrival);
        V sum[2]{}, lane[G::sums][K];
        elements.add_terms(of, lane);
        SumsOf all = sums_of_team(lane, shared);
        if (a.tiles > 1) all = Cluster<false>::merged(shared, all);
        auto& found = *reinterpret_cast<SumsOf*>(shared.maximum);
        if (threadIdx.x == 0) found = all;
        sync_team();
#pragma unroll
        for (int i = 0; i < G::sums; ++i)
            sum[i] = row_grads::finished<G>(found.a[i].sum, of);
        write(a, row, tile * tile_items, m, elements, of, sum, shared);
        // This kernel ends after that of the sums, so that what comes next in the stream finds
        // both.
        if (G::of_norm && a.beside_sums && blockIdx.x == gridDim.x - 1) wait_for_previous_kernel();
    }
    static __device__ __forceinline__ void run(const GradRows<T>& a, std::uint64_t row, Shared<T>& shared) {
        using Item = acc::Rounded<V>;
        char* const end = reinterpret_cast<char*>(&shared) + bytes_of_long;
        const auto elements_of = [&](std::uint64_t tile) {
            return Elements(a, row, tile * tile_items, items_of(a, tile), end);
        };
        const auto of = kept(a, row);
        Item* items[2];
        for (int i = 0; i < 2; ++i)
            items[i] = reinterpret_cast<Item*>(a.partials + blockIdx.x * a.pitch) +
                       static_cast<std::uint64_t>(i) * (a.pitch / 2);
        V sum[2]{}, lane[G::sums][K];
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            const Elements elements = elements_of(tile);
            if (tile + 1 < a.tiles) prefetch(a, row, tile + 1);
            elements.add_terms(of, lane);
            const SumsOf part = sums_of_team(lane, shared);
#pragma unroll
            for (int i = 0; i < G::sums; ++i)
                if (threadIdx.x == 0) items[i][tile] = part.a[i];
            sync_team(); // the lanes are used again
        }
#pragma unroll
        for (int i = 0; i < G::sums; ++i)
            sum[i] = row_grads::finished<G>(total_of_tiles<T>(items[i], a.tiles, shared).sum, of);
        sync_team(); // the shared memory is used again
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            const Elements elements = elements_of(tile);
            write(a, row, tile * tile_items, items_of(a, tile), elements, of, sum, shared);
        }
    }

  private:
    static __device__ __forceinline__ row_grads::RowOf<V> kept(const GradRows<T>& a, std::uint64_t row) {
        row_grads::RowOf<V> of{V{0}, V{1}, static_cast<V>(a.n)};
        if (G::op == RowOp::layernorm_gradient) of.mean = a.mean[row];
        if (G::of_norm) of.rstd = a.rstd[row];
        return of;
    }
    static __device__ __forceinline__ int items_of(const GradRows<T>& a, std::uint64_t tile) {
        return static_cast<int>(items_in_tile(tile * tile_items, a.n, tile_items));
    }
    static __device__ __forceinline__ void prefetch(const GradRows<T>& a, std::uint64_t row, std::uint64_t tile) {
        const int m = items_of(a, tile);
        Chunk<T, Aligned>::prefetch(a.x + static_cast<std::int64_t>(row * a.stride + tile * tile_items), m);
        Chunk<T, Aligned>::prefetch(a.upstream + static_cast<std::int64_t>(row * a.upstream_stride + tile * tile_items),
                                    m);
    }
    static __device__ __forceinline__ void write(const GradRows<T>& a, std::uint64_t row, std::uint64_t first, int m,
                                                 const Elements& elements, const row_grads::RowOf<V>& of,
                                                 const V (&sum)[2], Shared<T>& shared) {
        V* const space = shared.own_lane();
        if constexpr (G::of_norm) {
            if (a.terms != nullptr)
                elements.store(RowOut<T>{a.terms, row * a.n + first, true}, m, space,
                               [&](const row_grads::At<V>& e) { return G::scale_term(of, e); });
        }
        elements.store(RowOut<T>::of(a, row).from(first), m, space,
                       [&](const row_grads::At<V>& e) { return G::slope(of, e, sum); });
    }
};

/// Of cross entropy with respect to probabilities.
template <class T, bool Aligned>
struct ProbabilityGradRow : RowKernel<T, true, policy::long_row_blocks_at_once, GradRows<T>> {
    static __device__ __forceinline__ void run(const GradRows<T>& a, std::uint64_t row, Shared<T>& shared) {
        using Row = ExpRow<T, RowOp::cross_entropy_target_gradient, Aligned>;
        using V = fp::Arithmetic<T>;
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, blockIdx.x};
        const auto e = block.known_sum();
        if (e.is_special()) return block.write_same(spec::quiet_nan<V>);
        const V factor = factor_of(a, row);
        block.write_each(e, [&](V v, V, std::int64_t j) {
            const auto i = static_cast<std::uint64_t>(j);
            const V weight = i < a.n ? weight_of(a, i) : V{1}; // what is beyond the row is not stored
            return row_grads::probability_slope(a.smoothed, e.neg_log_prob(v), weight, factor);
        });
    }
};

} // namespace detreduce::cuda::row_kernels
