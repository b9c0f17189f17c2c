// rmsnorm and layernorm: a team a row, or a cluster, a block a tile, in which the row stays in
// registers; longer rows are a block's, and are read twice.
#pragma once

#include "sequence/moments/tile.cuh"
#include "row_ops/exp_rows.cuh"
#include "row_ops/merge_weights.cuh"

namespace detreduce::cuda::row_kernels {

/// Blocks on a multiprocessor. Count: as Chunk says.
template <class T, RowOp Op, bool Long, int Count>
inline constexpr int blocks_of_norms = Long                                     ? policy::long_row_blocks_at_once
                                       : Count < spec::rows_per_chunk           ? policy::half_norm_row_blocks
                                       : fp::is_f64<T>&& Op == RowOp::layernorm ? policy::layernorm_row_blocks_f64
                                                                                : policy::norm_row_blocks;

/// Scale and shift of a chunk, at the end of a team's memory: of four rows of lanes, in whose place
/// come those of the others as they are used. rmsnorm has no shift.
template <class T, RowOp Op, class ChunkOf>
struct NormParameters {
    static constexpr int room = 4, rows = ChunkOf::rows;
    static_assert(room == rows || 2 * room == rows);
    using Of = SharedWords<T, ChunkOf, room>;
    using Words = typename ChunkOf::Words;
    Of scale, shift;

    static constexpr bool may_shift = Op == RowOp::layernorm;

    [[nodiscard]] static constexpr std::size_t bytes(std::uint32_t warps) {
        return (may_shift ? 2 : 1) * warps * Of::bytes_of_warp;
    }
    __device__ __forceinline__ explicit NormParameters(char* end)
        : scale(end), shift(end - blockDim.x / warp_size * Of::bytes_of_warp) {}
    /// Of the m elements of a tile from `first` on.
    __device__ __forceinline__ void copy(const Rows<T>& a, std::int64_t first, int m) const {
        if (a.scale != nullptr) scale.copy(a.scale + first, m);
        if (has_shift(a)) shift.copy(a.shift + first, m);
        end_copies();
    }
    /// Of row r, behind those of the rows before. A group of copies is one of four rows, or one
    /// row.
    __device__ __forceinline__ void take(const Rows<T>& a, std::int64_t first, int m, int r, Words& of_scale,
                                         Words& of_shift) const {
        if (r == 0 || r == 7) wait_for_copies();
        if (r == 4) wait_for_copies<3>();
        if (r == 5) wait_for_copies<2>();
        if (r == 6) wait_for_copies<1>();
        of_scale = scale.at(r);
        if (has_shift(a)) of_shift = shift.at(r);
        if (r + room >= rows) return;
        scale.copy_row(a.scale + first, m, r + room);
        if (has_shift(a)) shift.copy_row(a.shift + first, m, r + room);
        end_copies();
    }
    [[nodiscard]] static __device__ __forceinline__ bool has_shift(const Rows<T>& a) {
        return may_shift && a.shift != nullptr;
    }
};

/// What both do to a row, once they know its mean and its reciprocal deviation.
template <class T, RowOp Op, class ChunkOf>
struct Normalizer {
    using V = fp::Arithmetic<T>;
    using Parameters = NormParameters<T, Op, ChunkOf>;
    static constexpr std::uint32_t tile_items = ChunkOf::Order::tile;
    const Rows<T>& a;
    std::uint64_t row;
    V mean, rstd;
    void* space; ///< of the warp, for ChunkOf::store()
    const Parameters& parameters;

    /// Of elements from `first` on, which are in `chunk`, and whose parameters are being copied.
    __device__ __forceinline__ void write(const ChunkOf& chunk, std::int64_t first, int m) const {
        const auto out = RowOut<T>::of(a, row).from(static_cast<std::uint64_t>(first));
        if (a.scale == nullptr) {
            ChunkOf::template store<false>(out, m, space, [&](int r, int k) { return of(chunk, r, k); });
            return;
        }
        typename ChunkOf::Words scale, shift;
        ChunkOf::store(out, m, space, [&](int r, int k) {
            if (k == 0) parameters.take(a, first, m, r, scale, shift);
            const V z = of(chunk, r, k), factor = ChunkOf::number(scale, k);
            return Parameters::has_shift(a) ? fp::fused(z, factor, ChunkOf::number(shift, k)) : z * factor;
        });
    }
    __device__ __forceinline__ void write_again(const T* x) const {
        for (std::uint64_t tile = 0; tile < a.tiles; ++tile) {
            const auto first = static_cast<std::int64_t>(tile * tile_items);
            const int m = static_cast<int>(items_in_tile(tile * tile_items, a.n, tile_items));
            ChunkOf chunk;
            chunk.template load<false, true>(x + first, m, T{});
            parameters.copy(a, first, m);
            write(chunk, first, m);
        }
    }
    /// The row's numbers, where they are wanted.
    __device__ __forceinline__ void put() const {
        if (threadIdx.x != 0) return;
        if (a.mean != nullptr) a.mean[row] = fp::canonical(mean);
        if (a.rstd != nullptr) a.rstd[row] = fp::canonical(rstd);
    }

  private:
    [[nodiscard]] __device__ __forceinline__ V of(const ChunkOf& chunk, int r, int k) const {
        return spec::normalized(chunk.at(r, k), mean, rstd);
    }
};

/// What the first thread finds out of a row, to all.
template <class V>
struct RowNumbers {
    V mean, rstd;
    bool asks_for_scale;

    [[nodiscard]] static __device__ __forceinline__ RowNumbers of(V mean, double square, double epsilon) {
        return {mean, spec::reciprocal_deviation<V>(square, epsilon), spec::asks_for_scale<V>(square, epsilon)};
    }
};

/// A row whose squares overflow or underflow, from the beginning: scaled, if that can be, and else
/// with the numbers that were found. Not inlined, and nothing comes after it, so that its registers
/// are not asked for where it is not run.
template <class T, RowOp Op, bool Aligned, bool Few>
__device__ __noinline__ void norm_again(const Rows<T>* rows, std::uint64_t row, Shared<T>* s,
                                        const RowNumbers<fp::Arithmetic<T>>* found) {
    using Row = ExpRow<T, Op, Aligned, Few>;
    using V = fp::Arithmetic<T>;
    using Scale = spec::NormScale<V>;
    const Rows<T>& a = *rows;
    const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, *s, blockIdx.x};
    const V maximum = block.maximum_of([](V v) { return math::detail::magnitude(v); });
    V mean = found->mean, rstd = found->rstd, own_mean = mean, own_rstd = rstd;
    auto down = spec::PowerScale<V>::of(0);
    const auto element = [&](std::uint64_t i) { return down(fp::widen(load_number(block.x + i))); };
    if (Scale::exists(maximum)) { // all threads, or none
        const Scale scale = Scale::of(maximum, a.epsilon);
        down = scale.down;
        double square = 0;
        if constexpr (Op == RowOp::layernorm) {
            const V first = Scale::mean(V{0}, block.sum_of_classes(element), a.n);
            const V more = block.sum_of_classes([&](std::uint64_t i) { return element(i) - first; });
            const V squares = block.sum_of_classes([&](std::uint64_t i) {
                const V d = element(i) - first;
                return d * d;
            });
            mean = Scale::mean(first, more, a.n);
            square = Scale::variance(more, squares, a.n);
        } else {
            const V squares = block.sum_of_classes([&](std::uint64_t i) { return element(i) * element(i); });
            square = static_cast<double>(squares) / static_cast<double>(a.n);
        }
        const double w = scale.root(square);
        rstd = Scale::rstd(w, a.epsilon);
        own_mean = scale.own_mean(mean);
        own_rstd = scale.own_rstd(w);
    }
    if (threadIdx.x == 0) {
        if (a.mean != nullptr) a.mean[row] = fp::canonical(own_mean);
        if (a.rstd != nullptr) a.rstd[row] = fp::canonical(own_rstd);
    }
#pragma unroll 1
    for (std::uint64_t i = threadIdx.x; i < a.n; i += blockDim.x) {
        const V z = spec::normalized(element(i), mean, rstd);
        V result = z;
        if (a.scale != nullptr) {
            const V factor = fp::widen(load_number(a.scale + i));
            result = a.shift != nullptr ? fp::fused(z, factor, fp::widen(load_number(a.shift + i))) : z * factor;
        }
        block.out().put(i, result);
    }
}

/// What becomes of a row whose numbers are in the memory of each block that has it: write(a
/// Normalizer).
template <class T, RowOp Op, class ChunkOf, bool Few, class Memory, class Write>
__device__ __forceinline__ void finish_norm(const Rows<T>& a, std::uint64_t row, Memory& memory, std::uint32_t tile,
                                            const NormParameters<T, Op, ChunkOf>& parameters, const Write& write) {
    using V = fp::Arithmetic<T>;
    if (memory.numbers.asks_for_scale) {
        if (tile != 0) return; // the first block does it for all
        return norm_again<T, Op, ChunkOf::aligned, Few>(&a, row, &memory.shared, &memory.numbers);
    }
    // Of a mean that is known to be zero nothing is subtracted.
    const V mean = Op == RowOp::rmsnorm ? V{0} : memory.numbers.mean;
    const Normalizer<T, Op, ChunkOf> result{a, row, mean, memory.numbers.rstd, memory.shared.own_lane(), parameters};
    if (tile == 0) result.put();
    write(result);
}

template <class T, bool Aligned, int Count, bool InCluster>
struct RmsNormBlock {
    using Type = T;
    using V = fp::Arithmetic<T>;
    using Acc = acc::Rounded<V>;
    using Arguments = Rows<T>;
    using ChunkOf = Chunk<T, Aligned, Count>;
    using Row = ExpRow<T, RowOp::rmsnorm, Aligned>;
    using Numbers = RowNumbers<V>;
    static constexpr RowOp op = RowOp::rmsnorm;
    static constexpr bool in_cluster = InCluster;
    using ClusterOf = Cluster<policy::waits_early(Aligned, fp::is_f64<T>)>;
    struct Memory {
        Numbers numbers;
        Shared<T> shared; ///< with lanes behind it
        [[nodiscard]] static constexpr std::size_t bytes_before(std::uint32_t warps, bool has_levels) {
            return offsetof(Memory, shared) + Shared<T>::bytes(warps, has_levels);
        }
    };

    const Rows<T>& a;
    Memory& s;
    std::uint32_t tile, m; ///< of the row, and its elements

    /// What numbers() makes a row's numbers of, in their place until then: Σx².
    [[nodiscard]] static __device__ __forceinline__ Numbers kept(const Acc& square) { return {square.sum}; }
    [[nodiscard]] static __device__ __forceinline__ Numbers numbers(const Rows<T>& a, const Numbers& square) {
        return Numbers::of(V{0}, static_cast<double>(square.mean) / static_cast<double>(a.n), a.epsilon);
    }
    static __device__ __forceinline__ void add_squares(const ChunkOf& chunk, V (&lane)[Row::K]) {
        ChunkOf::add_rows(lane, [&](int r, int k) { return chunk.at(r, k) * chunk.at(r, k); });
    }
    /// A tile: to the first thread.
    [[nodiscard]] __device__ __forceinline__ Acc reduce(const ChunkOf& chunk) const {
        V lane[1][Row::K];
        if (InCluster) ClusterOf::template begin<Aligned>(s.shared.arrival);
        add_squares(chunk, lane[0]);
        return sums_of_team<InCluster>(lane, s.shared).a[0];
    }
    [[nodiscard]] __device__ __forceinline__ Acc merge_in_cluster(Acc own) const {
        return ClusterOf::merged(s.shared, own);
    }
    [[nodiscard]] __device__ __forceinline__ Acc reduce_long(const T* x) const {
        const Row block{a, x, 0, s.shared, blockIdx.x};
        return {block.template sum<true>([&](std::uint64_t t, V(&lane)[Row::K]) {
            ChunkOf chunk;
            chunk.template load<false, true>(x + t * Row::tile_items, block.items(t), T{});
            if (t + 1 < a.tiles) ChunkOf::prefetch(x + (t + 1) * Row::tile_items, block.items(t + 1));
            add_squares(chunk, lane);
        })};
    }
};

template <class T>
struct LayerNormArguments : Rows<T> {
    MergeWeights<fp::Arithmetic<T>> weights[2]; ///< of the last tile, and of others
};

template <class T, bool Aligned, int Count, bool InCluster>
struct LayerNormBlock {
    using Type = T;
    using V = fp::Arithmetic<T>;
    using Arguments = LayerNormArguments<T>;
    using Numbers = RowNumbers<V>;
    static constexpr RowOp op = RowOp::layernorm;
    static constexpr bool in_cluster = InCluster;
    using ClusterOf = Cluster<policy::waits_early(Aligned, fp::is_f64<T>)>;
    using Acc = acc::Moments<V>;
    using ChunkOf = Chunk<T, Aligned, Count>;
    using TileOf = moment_kernels::Tile<moment_kernels::Elements<T, Aligned && fp::is_narrow<T>>>;
    using Upper = moment_kernels::Tile<moment_kernels::Partials<V>>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows;
    static constexpr std::uint32_t lanes = ChunkOf::lanes, tile_items = ChunkOf::Order::tile;

    /// In one place: `shared`, with lanes behind it; the lanes of a tile; and those of a level
    /// above.
    struct Memory {
        RowNumbers<V> numbers;
        alignas(16) Acc tiles[policy::most_row_cluster]; ///< of a cluster: others store them while the lanes are in use
        Arrival arrival;
        Shared<T> shared;

        [[nodiscard]] __device__ __forceinline__ typename TileOf::Buffer& buffer() {
            return *reinterpret_cast<typename TileOf::Buffer*>(&shared);
        }
        [[nodiscard]] __device__ __forceinline__ typename Upper::Buffer& upper() {
            return *reinterpret_cast<typename Upper::Buffer*>(&shared);
        }
        [[nodiscard]] static constexpr std::size_t bytes_before(std::uint32_t warps, bool has_levels) {
            const std::size_t of_tile = warps * sizeof(typename TileOf::Buffer) / most_warps;
            const std::size_t lanes_of_tile = std::max(of_tile, Shared<T>::bytes(warps, has_levels));
            return offsetof(Memory, shared) +
                   (has_levels ? std::max(lanes_of_tile, sizeof(typename Upper::Buffer)) : lanes_of_tile);
        }
    };

    const Arguments& a;
    Memory& s;
    std::uint32_t tile, m; ///< of the row, and its elements

    /// What numbers() makes a row's numbers of, in their place until then: the mean and M2.
    [[nodiscard]] static __device__ __forceinline__ Numbers kept(const Acc& m) { return {m.mean, m.m2}; }
    /// The variance is what acc::finished_variance() gives in binary64, where the quotient is
    /// rounded as it is.
    [[nodiscard]] static __device__ __forceinline__ Numbers numbers(const Rows<T>& a, const Numbers& moments) {
        const double variance = static_cast<double>(moments.rstd) / static_cast<double>(a.n);
        return Numbers::of(moments.mean, fp::is_finite(moments.mean) ? variance : spec::quiet_nan<double>, a.epsilon);
    }
    [[nodiscard]] __device__ __forceinline__ const MergeWeights<V>& weights() const {
        return a.weights[InCluster && tile + 1 < a.tiles ? 1 : 0];
    }
    [[nodiscard]] __device__ __forceinline__ typename TileOf::Counts counts() const { return {m, 1}; }
    /// Does lane j of a tile have an element in its last row?
    [[nodiscard]] __device__ __forceinline__ bool in_last_row(std::uint32_t j) const {
        return j < (counts().m - 1) % lanes + 1;
    }

    /// The rows Begin … Begin + Some − 1 of a lane, all of which are there. Groups of equally many
    /// rows are merged without weights.
    template <int Begin, int Some>
    [[nodiscard]] __device__ __forceinline__ Acc merge_rows(const Acc (&row)[rows]) const {
        constexpr int equal = Some >= 4 ? 4 : Some >= 2 ? 2 : 1;
        Acc first[equal];
#pragma unroll
        for (int r = 0; r < equal; ++r)
            first[r] = row[Begin + r];
        Acc sum = moment_kernels::merge_equal(first, V{1});
        if constexpr (equal < Some)
            sum.merge(merge_rows<Begin + equal, Some - equal>(row),
                      weights().rows[0][8 - 8 / equal + Begin / (2 * equal)]);
        return sum;
    }
    /// Of the warp's chunk the thread's lanes, as merge(rows, lane) merges the rows of each, to the
    /// buffer.
    template <class Merge>
    __device__ __forceinline__ void put_lanes(const ChunkOf& chunk, const Merge& merge) const {
        constexpr int together = TileOf::Buffer::together; // one by one they would meet in the same banks
#pragma unroll
        for (int k = 0; k < K; k += together) {
            Acc lanes_together[together];
#pragma unroll
            for (int i = 0; i < together; ++i) {
                Acc row[rows];
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    row[r] = Acc::of(chunk.at(r, k + i));
                lanes_together[i] = merge(row, k + i);
            }
            s.buffer().put(threadIdx.x / warp_size, static_cast<int>(threadIdx.x) % warp_size * K + k, lanes_together);
        }
    }
    /// The lanes of the chunks.
    template <int Chunks>
    __device__ __forceinline__ void merge_chunks() const {
        for (std::uint32_t j = threadIdx.x; j < lanes; j += Chunks * warp_size) {
            Acc part[Chunks];
#pragma unroll
            for (int c = 0; c < Chunks; ++c)
                part[c] = s.buffer().get(c, j);
            s.buffer().put(0, j, merge_weighted<Chunks>(part, weights().chunks[in_last_row(j) ? 0 : 1]));
        }
    }
    /// A tile: to the first thread.
    [[nodiscard]] __device__ __forceinline__ Acc reduce(const ChunkOf& chunk) const {
        const int m = static_cast<int>(this->m), warps = static_cast<int>(blockDim.x) / warp_size;
        const int warp = threadIdx.x / warp_size, own = static_cast<int>(threadIdx.x) % warp_size * K;
        if (InCluster) ClusterOf::template begin<Aligned>(s.arrival);
        const int remaining = m - warp * static_cast<int>(ChunkOf::Order::chunk);
        // What is run lies in one piece: with the choice inside of the loop over lanes, warps
        // waited for instructions.
        if (remaining >= rows * static_cast<int>(lanes)) {
            put_lanes(chunk, [](Acc(&row)[rows], int) { return moment_kernels::merge_equal(row, V{1}); });
        } else if (remaining > 0 && m % lanes == 0) { // whole rows of lanes
            [&]<int... Less>(std::integer_sequence<int, Less...>) {
                ((remaining == (Less + 1) * static_cast<int>(lanes)
                      ? put_lanes(chunk, [&](const Acc(&row)[rows], int) { return merge_rows<0, Less + 1>(row); })
                      : void()),
                 ...);
            }
            (std::make_integer_sequence<int, rows - 1>());
        } else if (remaining > 0) {
            put_lanes(chunk, [&](Acc(&row)[rows], int k) {
                return merge_weighted<rows>(row, weights().rows[in_last_row(own + k) ? 0 : 1]);
            });
        }
        sync_team();
        if constexpr (Count == spec::rows_per_chunk) {
            if (!InCluster && warps == 2) merge_chunks<2>();
            if (!InCluster && warps == 4) merge_chunks<4>();
            if (InCluster || warps == 8) merge_chunks<8>();
            sync_team();
        }
        if (warp != 0) return {};
        // Lanes of equally many elements are merged without a division.
        return m % lanes == 0 ? TileOf{{}, counts(), s.buffer()}.template merge_lanes<true>()
                              : merge_uneven_lanes({{}, counts(), s.buffer()});
    }
    /// Other lanes, with one division. Not inlined: the code of rows that do not run it stays
    /// together.
    static __device__ __noinline__ Acc merge_uneven_lanes(TileOf merged) {
        const Merges<MomentLevel<T, Aligned>> merges(static_cast<int>(merged.counts.m));
        return merged.merge_lanes([&](std::uint32_t half) { return merges.lanes(half); });
    }

    /// Of the row, what the first thread of each block of the cluster found out of its tile: to the
    /// first thread.
    [[nodiscard]] __device__ __forceinline__ Acc merge_in_cluster(Acc own) const {
        if (ClusterOf::is_done()) return own;
        own = ClusterOf::share(s.tiles, own, s.arrival);
        const auto tiles = static_cast<std::uint32_t>(a.tiles), lane = threadIdx.x;
        const typename Upper::Counts c{tiles, tile_items, a.tiles * tile_items - a.n};
#pragma unroll
        for (std::uint32_t half = warp_size / 2; half >= 1; half /= 2) {
            if (half >= tiles) continue;
            const Acc right = shuffle_down(own, static_cast<int>(half));
            if (lane < half)
                own = moment_kernels::merged(own, right, c.in_lanes(lane, 2 * half), c.in_lanes(lane + half, 2 * half));
        }
        return own;
    }

    /// A row of more tiles.
    [[nodiscard]] __device__ __forceinline__ Acc reduce_long(const T* x) const {
        Acc* level = reinterpret_cast<Acc*>(a.partials + blockIdx.x * a.pitch);
        for (std::uint64_t t = 0; t < a.tiles; ++t) {
            typename TileOf::Pointer p{};
            p.x = x + static_cast<std::int64_t>(t * tile_items);
            if constexpr (requires { p.aligned = true; } && !(Aligned && fp::is_narrow<T>)) p.aligned = Aligned;
            const Acc part = TileOf{p, {items_in_tile(t * tile_items, a.n, tile_items), 1}, s.buffer()}.reduce();
            if (threadIdx.x == 0) level[t] = part;
            sync_team(); // the buffer is used again
        }
        constexpr std::uint32_t above_items = Upper::Order::tile;
        std::uint64_t items = a.tiles, unit = tile_items;
        while (items > 1) {
            const std::uint64_t tiles = spec::tiles(items, above_items);
            Acc* const above = level + (items + 3) / 4 * 4;
            for (std::uint64_t t = 0; t < tiles; ++t) {
                typename Upper::Counts c{items_in_tile(t * above_items, items, above_items), unit};
                if (t + 1 == tiles) c.missing = items * unit - a.n;
                const Acc part = Upper{level + t * above_items, c, s.upper()}.reduce();
                if (threadIdx.x == 0) above[t] = part;
                sync_team();
            }
            level = above;
            items = tiles;
            unit *= above_items;
        }
        return load_item<Source::partials>(level);
    }
};

/// Block: what finds out a row's numbers; in a cluster, a tile's. Long: of rows of more tiles than
/// a cluster has blocks, which are read twice.
template <class Block, bool Long>
struct NormRow {
    using T = typename Block::Type;
    using Arguments = typename Block::Arguments;
    using ChunkOf = typename Block::ChunkOf;
    using Parameters = NormParameters<T, Block::op, ChunkOf>;
    struct Memory : Block::Memory {
        [[nodiscard]] static std::size_t bytes(std::uint32_t warps, bool has_levels) {
            return (Block::Memory::bytes_before(warps, has_levels) + 15) / 16 * 16 + Parameters::bytes(warps);
        }
    };
    static constexpr std::size_t bytes_of_long =
        (Block::Memory::bytes_before(most_warps, true) + 15) / 16 * 16 + Parameters::bytes(most_warps);
    static constexpr int blocks = blocks_of_norms<T, Block::op, Long, ChunkOf::rows>;
    static constexpr bool repeats = Long;

    static __device__ __forceinline__ void run(const Arguments& a, std::uint64_t row, const Teams<Memory>& teams) {
        Memory& memory = teams.memory(Block::in_cluster ? 0 : threadIdx.y);
        const bool there = row < a.rows;
        const std::uint32_t tile = Block::in_cluster ? cluster_rank() : 0, first = tile * ChunkOf::Order::tile;
        const Block block{a, memory, tile, items_in_tile(first, a.n, ChunkOf::Order::tile)};
        ChunkOf chunk;
        const int m = static_cast<int>(block.m);
        chunk.template load<false, true>(x_of(a, row) + first, there ? m : 0, T{});
        const Parameters parameters(reinterpret_cast<char*>(&memory) + teams.bytes);
        parameters.copy(a, first, m);
        ChunkOf::prefetch_ahead(a, a.x, a.stride, row, first);
        auto found = block.reduce(chunk);
        if (Block::in_cluster) found = block.merge_in_cluster(found);
        if (threadIdx.x == 0) memory.numbers = Block::kept(found);
        teams.for_each([&](Memory& team, std::uint32_t) { team.numbers = Block::numbers(a, team.numbers); });
        if (!there) return;
        finish_norm<T, Block::op, ChunkOf, true>(a, row, memory, tile, parameters,
                                                 [&](const auto& result) { result.write(chunk, first, m); });
    }
    static __device__ __forceinline__ void run(const Arguments& a, std::uint64_t row, Memory& memory) {
        const auto found = Block{a, memory, 0, 0}.reduce_long(x_of(a, row));
        if (threadIdx.x == 0) memory.numbers = Block::numbers(a, Block::kept(found));
        sync_team();
        const Parameters parameters(reinterpret_cast<char*>(&memory) + bytes_of_long);
        finish_norm<T, Block::op, ChunkOf, false>(a, row, memory, 0, parameters,
                                                  [&](const auto& result) { result.write_again(x_of(a, row)); });
    }
    [[nodiscard]] static __device__ __forceinline__ const T* x_of(const Rows<T>& a, std::uint64_t row) {
        return a.x + static_cast<std::int64_t>(row * a.stride);
    }
};

} // namespace detreduce::cuda::row_kernels
