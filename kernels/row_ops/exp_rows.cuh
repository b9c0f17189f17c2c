// logsumexp, softmax, log_softmax, cross entropy and its gradient. The elements of a row are first
// taken as they are, so that it is read once; where its maximum is beyond exp_plain, or
// none, which is rare, the row is read again, for that element and for the sum of what is taken
// less it.
#pragma once

#include "row_ops/exp_row.cuh"

namespace detreduce::cuda::row_kernels {

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
        if (blockDim.y > 1) __syncthreads(); // of one team, its first thread wrote what it reads
        const std::uint32_t team = threadIdx.y * blockDim.x + threadIdx.x;
        if (team < blockDim.y) f(memory(team), team);
        __syncthreads();
    }
};

/// A team a row, or, of more than one tile, a cluster, of which each block is a team: a row, which
/// may be none of those that there are; or, where Op::repeats, a team one after the other.
/// `blocks`: of 256 threads, on a multiprocessor.
template <class Op>
__global__ void __launch_bounds__(most_warps* warp_size, policy::blocks_that_fit(Op::blocks))
    rows_kernel(const __grid_constant__ typename Op::Arguments a, std::uint32_t team_bytes) {
    const Teams<typename Op::Memory> teams{team_bytes};
    std::uint64_t row = a.first_row + std::uint64_t{cluster_index()} * blockDim.y + threadIdx.y;
    if constexpr (Op::repeats) {
        for (; row < a.rows; row += std::uint64_t{gridDim.x} * blockDim.y) {
            Op::run(a, row, teams.memory(threadIdx.y));
            sync_team(); // the shared memory is used again
        }
    } else { // in a loop of one round the compiler would keep in memory what is the same in all rounds
        Op::run(a, row, teams);
    }
}

/// What rows_kernel() asks of an op. Memory is Shared, but where the op says otherwise.
template <class T, bool Repeats, int Blocks = policy::long_row_blocks_at_once, class More = Rows<T>>
struct RowKernel {
    using Arguments = More;
    using Memory = Shared<T>;
    static constexpr int blocks = Blocks;
    static constexpr bool repeats = Repeats;
};

/// A row of more than one tile, or one of which all classes count, from the beginning. Of the
/// gradient of cross entropy: where weights or probabilities of all classes are added up.
template <class T, RowOp Op, bool Aligned>
struct LongExpRow : RowKernel<T, true> {
    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, Shared<T>& shared) {
        using Row = ExpRow<T, Op, Aligned>;
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, blockIdx.x};
        if ((Op == RowOp::cross_entropy_gradient || (Op == RowOp::logsumexp && a.entropy)) && block.without_class())
            return; // all threads, or none
        if constexpr (Op == RowOp::cross_entropy_gradient) {
            block.write_slopes(block.known_sum());
        } else {
            block.finish(block.sum_of(block.state()));
        }
    }
};

/// What remains of a row whose elements are not taken as they are. Not inlined, so that its
/// registers are not asked for where it is not run.
template <class T, RowOp Op, bool Aligned>
__device__ __noinline__ void row_again(const Rows<T>* a, std::uint64_t row, Shared<T>* s) {
    using Row = ExpRow<T, Op, Aligned, true>;
    const Row block{*a, a->x + static_cast<std::int64_t>(row * a->stride), row, *s, blockIdx.x};
    if (Op == RowOp::logsumexp && a->entropy && block.without_class()) return; // all threads, or none
    block.template finish<1>(block.sum_at_maximum());
}

/// What kernels are told that have a chunk a warp, and kernels that merge chunks. `rows` counts
/// what teams have: chunks, groups of chunks, rows or groups of rows.
template <class T>
struct ChunkRows : Rows<T> {
    std::uint64_t chunks, all_rows;      ///< of a row, and all rows
    ChunkSum<fp::Arithmetic<T>>* sums{}; ///< of the chunks of all rows, where there is room for them
    std::uint32_t log_tiles{};           ///< of a row, rounded up, where a thread has a tile

    struct Part {
        std::uint64_t row, first;
        int m; ///< elements from `first` on, which is at x
        const T* x;
    };
    /// Chunk i of all. OfOne: it is a row.
    template <bool OfOne = false>
    [[nodiscard]] __device__ __forceinline__ Part part(std::uint64_t i) const {
        constexpr std::uint32_t chunk = spec::TreeOrder<sizeof(T)>::chunk;
        const bool is_short = (i | chunks) >> 32 == 0; // division of 64 bits takes long
        const std::uint64_t row = OfOne      ? i
                                  : is_short ? static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(chunks)
                                             : i / chunks;
        const std::uint64_t first = (i - row * chunks) * chunk;
        return {row, first, static_cast<int>(items_in_tile(first, this->n, chunk)),
                this->x + static_cast<std::int64_t>(row * this->stride + first)};
    }
    [[nodiscard]] __device__ __forceinline__ spec::ExpState<T> state_of_tile(std::uint64_t row,
                                                                             std::uint64_t tile) const {
        constexpr std::uint32_t of_tile = spec::chunks_per_tile;
        const auto there = static_cast<int>(items_in_tile(tile * of_tile, chunks, of_tile));
        return state_of_chunks<of_tile, T>(sums + row * chunks + tile * of_tile, there, spec::ExpSteps{});
    }
};

/// A number for each lane of a warp, in shared memory, if it is Used.
template <class T, bool Used>
struct alignas(16) ChunkMemory {
    fp::Arithmetic<T> space[spec::TreeOrder<sizeof(T)>::lanes];
    [[nodiscard]] static std::size_t bytes(std::uint32_t, bool) { return Used ? sizeof(ChunkMemory) : 16; }
};

/// Maximum and sum of each chunk, to a.sums. A warp has every a.rows-th chunk, and loads the next
/// one as the one before leaves its registers.
template <class T, bool Aligned>
struct ExpChunks : RowKernel<T, false, blocks_of_sums<T>, ChunkRows<T>> {
    using ChunkOf = Chunk<T, Aligned>;
    using Memory = ChunkMemory<T, true>;

    static __device__ __forceinline__ void run(const ChunkRows<T>& a, std::uint64_t i, const Teams<Memory>& teams) {
        if (i >= a.rows) return;
        auto* const space = teams.memory(threadIdx.y).space;
        ChunkOf chunk;
        auto part = a.part(i);
        chunk.template load<true>(part.x, part.m, lowest_of<T>);
        for (bool more = true; more; i += a.rows) {
            more = policy::chunks_of_warp<T> > 1 && i + a.rows < a.all_rows * a.chunks;
            const auto next = more ? a.part(i + a.rows) : part;
            const bool ahead = Aligned && more && next.m == static_cast<int>(ChunkOf::Order::chunk);
            const auto c = ExpChunk<T, Aligned, false>::of(chunk, part.m, space);
            const auto load_next = [&](int r, int k) {
                if (ahead && k == ChunkOf::K - 1) chunk.words[r] = ChunkOf::whole_words(next.x + ChunkOf::first(r));
            };
            fp::Arithmetic<T> lane[ChunkOf::K];
            c.add_rows(
                chunk, lane,
                [&](int r, int k, const auto& t, auto sum) {
                    load_next(r, k);
                    return t.added_to(sum);
                },
                load_next);
            const auto own = c.of_lanes(lane, space);
            if (threadIdx.x == 0) a.sums[i] = own;
            part = next;
            if (more && !ahead) chunk.template load<true>(part.x, part.m, lowest_of<T>);
            sync_warp(); // the space is used again
        }
    }
};
/// Finishes rows of no more tiles than a warp has threads, where not all classes count. A thread
/// has a tile. The whole block reads a row again whose elements are not taken as they are.
template <class T>
struct ExpRowsOfFewTiles : RowKernel<T, false, policy::exp_row_blocks, ChunkRows<T>> {
    static __device__ __forceinline__ void run(const ChunkRows<T>& a, std::uint64_t i, const Teams<Shared<T>>& teams) {
        using Row = ExpRow<T, RowOp::logsumexp, false>;
        const auto row_of = [&](std::uint32_t thread) { return (i * blockDim.x + thread) >> a.log_tiles; };
        const std::uint64_t row = row_of(threadIdx.x), tile = threadIdx.x & ((1u << a.log_tiles) - 1);
        const bool there = row < a.all_rows, is_first = there && tile == 0;
        const auto target = is_first && a.entropy ? target_of(a, row) : typename Row::Target{};
        wait_for_previous_kernel();
        auto state = spec::ExpState<T>::identity();
        if (there && tile < a.tiles) state = a.state_of_tile(row, tile);
        state = merge_few(state, a.tiles); // of identities, too, which change no row that is not special
        const bool is_plain = Row::Sum::is_plain(state);
        if (is_first && is_plain) Row::put_one(a, row, Row::Sum::plain(state), target);
        const std::uint32_t votes = votes_of_warp(is_first && !is_plain);
        if (__syncthreads_or(votes != 0) == 0) return;
        auto& special = *reinterpret_cast<std::uint32_t*>(&teams.memory(0).total);
        for (std::uint32_t warp = 0; warp < most_warps; ++warp) {
            if (threadIdx.x == warp * warp_size) special = votes;
            sync_team();
            for (std::uint32_t rest = special; rest != 0; rest &= rest - 1) {
                const auto thread = warp * warp_size + static_cast<std::uint32_t>(__ffs(static_cast<int>(rest))) - 1;
                row_again<T, RowOp::logsumexp, false>(&a, row_of(thread), &teams.memory(0));
                sync_team(); // the shared memory is used again
            }
            sync_team();
        }
    }
};
/// Finishes a row of any number of tiles.
template <class T>
struct ExpRowOfTiles : RowKernel<T, true, policy::long_row_blocks_at_once, ChunkRows<T>> {
    static __device__ __forceinline__ void run(const ChunkRows<T>& a, std::uint64_t row, Shared<T>& shared) {
        using Row = ExpRow<T, RowOp::logsumexp, false>;
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, row};
        if (a.entropy && block.without_class()) return; // all threads, or none
        auto* const tiles = block.template partials<spec::ExpState<T>>();
        for (std::uint64_t tile = threadIdx.x; tile < a.tiles; tile += blockDim.x)
            tiles[tile] = a.state_of_tile(row, tile);
        __syncthreads();
        block.finish(block.sum_of(total_of_tiles<T>(tiles, a.tiles, shared)));
    }
};

/// The gradient's element at the target, without smoothing.
template <class T, bool Aligned>
__device__ __noinline__ void slope_of_target(const Rows<T>* a, std::uint64_t row, Shared<T>* s,
                                             typename ExpRow<T, RowOp::cross_entropy_gradient, Aligned>::Slope g) {
    using Row = ExpRow<T, RowOp::cross_entropy_gradient, Aligned>;
    const Row block{*a, a->x + static_cast<std::int64_t>(row * a->stride), row, *s, blockIdx.x};
    block.write_target(s->sum, g);
}

/// The terms of a thread's chunk: those of the first InShared rows at the end of a team's memory,
/// and of the others, which take the registers of elements of the first ones, in registers.
template <class V, int Rows, int K, int InShared>
struct Terms {
    static constexpr int each = 16 / sizeof(V), packs = InShared * K / each;
    using Some = Pack<V, each>;
    Some* own; ///< a warp's, one behind the other
    mutable Some now;
    V others[InShared < Rows ? Rows - InShared : 1][K];

    __device__ __forceinline__ explicit Terms(char* end) {
        const int warp = static_cast<int>(threadIdx.x) / warp_size, warps = static_cast<int>(blockDim.x) / warp_size;
        own = reinterpret_cast<Some*>(end) - (warps - warp) * (packs * warp_size) + threadIdx.x % warp_size;
    }
    /// In order of k.
    __device__ __forceinline__ void put(int r, int k, V value) {
        if (r >= InShared) {
            others[r - InShared][k] = value;
            return;
        }
        now.v[k % each] = value;
        if (k % each == each - 1) own[(r * K + k) / each * warp_size] = now;
    }
    [[nodiscard]] __device__ __forceinline__ V at(int r, int k) const {
        if (r >= InShared) return others[r - InShared][k];
        if (k % each == 0) now = own[(r * K + k) / each * warp_size];
        return now.v[k % each];
    }
};
/// Of a row of few tiles, which has no levels. InCluster: with its chunks.
template <class T, int Rows, bool InCluster>
struct SharedWithTerms : Shared<T> {
    using V = fp::Arithmetic<T>;
    static constexpr std::size_t chunk_bytes =
        InCluster ? policy::most_row_cluster * most_warps * sizeof(ChunkSum<V>) : 0;
    /// Behind the lanes.
    [[nodiscard]] __device__ __forceinline__ ChunkSum<V>* all_chunks() {
        return reinterpret_cast<ChunkSum<V>*>(this->lane(static_cast<int>(blockDim.x) / warp_size));
    }
    [[nodiscard]] static std::size_t bytes(std::uint32_t warps, bool) {
        return (Shared<T>::bytes(warps, false) + 15) / 16 * 16 + chunk_bytes +
               warps * sizeof(V) * Rows * Shared<T>::lanes;
    }
};

/// logsumexp and cross entropy, softmax, log_softmax and the gradient of cross entropy, of one
/// class a row, of rows of at most one tile, or, InCluster and but for the first two, of chunks
/// that the warps of a cluster have, one each. They stay in registers: as terms, or, for
/// log_softmax, as elements; or, Sharing, terms in shared memory. Count: as Chunk says.
template <class T, RowOp Op, bool Aligned, int Count = spec::rows_per_chunk, bool Sharing = false,
          bool InCluster = false>
struct ShortExpRow {
    using Arguments = Rows<T>;
    static constexpr bool is_sum = Op == RowOp::logsumexp;
    static constexpr bool keeps_terms = Op == RowOp::softmax || Op == RowOp::cross_entropy_gradient;
    static constexpr bool whole = Count == spec::rows_per_chunk;
    /// Where rows begin anywhere the gradient has no registers for any.
    static constexpr int in_shared = !Sharing                                          ? 0
                                     : Op == RowOp::cross_entropy_gradient && !Aligned ? spec::rows_per_chunk
                                                                                       : policy::shared_term_rows;
    using Memory = SharedWithTerms<T, in_shared, InCluster>;
    static constexpr bool more_blocks = is_sum || (Op == RowOp::log_softmax && InCluster && !fp::is_f32<T>);
    static constexpr int shared_blocks = Op == RowOp::softmax && Aligned ? policy::sharing_softmax_blocks
                                                                         : policy::sharing_row_blocks,
                         whole_blocks = Sharing                        ? shared_blocks
                                        : more_blocks                  ? blocks_of_sums<T>
                                        : keeps_terms || fp::is_f64<T> ? blocks_of_rows<T>
                                                                       : policy::exp_row_blocks_f32,
                         half_blocks = keeps_terms ? policy::half_term_row_blocks : policy::half_exp_row_blocks,
                         blocks = whole ? whole_blocks : half_blocks;
    static constexpr bool repeats = false;
    using ClusterOf = Cluster<policy::waits_early(Aligned, fp::is_f64<T>) && Op == RowOp::softmax>;
    static constexpr bool gradient_but_of_f32 = Op == RowOp::cross_entropy_gradient && !fp::is_f32<T>;
    /// Does the row stay in L1, where its element at the target is read again? Cross entropy of f32
    /// rows of 1024 takes .84 of the time so. Its gradient takes .85 to 1 (16 bits, f64), but f32 1
    /// to 1.1.
    static constexpr bool keeps_row = is_sum || gradient_but_of_f32;

    static __device__ __forceinline__ void run(const Rows<T>& a, std::uint64_t row, const Teams<Memory>& teams) {
        using V = fp::Arithmetic<T>;
        using Row = ExpRow<T, Op, Aligned>;
        using ChunkOf = Chunk<T, Aligned, Count>;
        using Sum = typename Row::Sum;
        constexpr int K = ChunkOf::K;
        Memory& shared = teams.memory(threadIdx.y);
        const Row block{a, a.x + static_cast<std::int64_t>(row * a.stride), row, shared, blockIdx.x};
        bool there = row < a.rows;
        const std::uint32_t rank = InCluster ? cluster_rank() : 0, first = rank * Row::at_once();
        const int m = !there ? 0 : static_cast<int>(items_in_tile(first, a.n, Row::at_once()));
        ChunkOf chunk;
        V lane[K];
        Terms<V, ChunkOf::rows, K, in_shared> term(reinterpret_cast<char*>(&shared) + teams.bytes);
        chunk.template load<keeps_row, gradient_but_of_f32>(block.x + first, m, lowest_of<T>);
        // (logsumexp and cross entropy wait for instructions, not for loads.)
        if (Op != RowOp::logsumexp) ChunkOf::prefetch_ahead(a, a.x, a.stride, row, first);
        // A block of a cluster has one team. (With all of `shared` from number 0, 16-bit softmax of
        // long rows was 5 % slower.)
        if (InCluster) ClusterOf::template begin<Aligned>(teams.memory(0).arrival);
        // What the target says is loaded beside the row.
        typename Row::Slope g{};
        if (Op == RowOp::cross_entropy_gradient && there) {
            there = !block.without_class(); // all of the team, or none
            if (there) g = block.slope_of_one_class();
        }
        RowTarget<V> target{};
        if (Op == RowOp::logsumexp && a.entropy && there && threadIdx.x == 0) target = target_of(a, row);
        const auto c = ExpChunk<T, Aligned, !is_sum, Count>::of(chunk, m, shared.own_lane());
        if constexpr (keeps_terms) {
            c.add_rows(
                chunk, lane,
                [&](int r, int k, const auto& t, V sum) {
                    term.put(r, k, t.value());
                    return t.added_to(sum);
                },
                // Not undefined, for then the compiler keeps what was there before.
                [&](int r, int k) { term.put(r, k, V{0}); });
        } else {
            c.add_rows(chunk, lane);
        }
        const ChunkSum<V> own = c.of_lanes(lane, shared.own_lane());
        typename Row::State state;
        if constexpr (InCluster) {
            state =
                cluster_state<ClusterOf>(own, teams.memory(0).all_chunks(), shared, static_cast<int>(a.tiles), c.steps);
        } else {
            state = whole ? team_state(own, shared, c.steps) : Row::State::of(own.maximum, own.sum, c.steps);
        }
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
            if (rank != 0) return; // the first block does it for all
            row_again<T, Op, Aligned>(&a, row, &shared);
            return;
        }
        const RowOut<T> out = block.out().from(first);
        if constexpr (Op == RowOp::logsumexp) {
            return;
        } else if constexpr (Op == RowOp::log_softmax) {
            const Sum e = shared.sum;
            ChunkOf::template store<false>(out, m, shared.own_lane(),
                                           [&](int r, int k) { return e.log_softmax(chunk.at(r, k)); });
        } else {
            // A term that is inexact relative to the row's maximum has a softmax of 0, as
            // it has in the text.
            const V most = shared.sum.maximum, reciprocal = shared.sum.reciprocal;
            const auto scale = spec::ExpScale<V>::of(spec::exp_exponent(most) - spec::exp_exponent(c.maximum));
            V factor = scale.of_sum(reciprocal);
            if (!(factor >= smallest_normal<V>)) { // all of the warp, or none
                factor = reciprocal;
#pragma unroll
                for (int r = 0; r < ChunkOf::rows; ++r) {
#pragma unroll
                    for (int k = 0; k < K; ++k)
                        term.put(r, k, scale.of_sum(term.at(r, k)));
                }
            }
            if constexpr (Op == RowOp::softmax) {
                ChunkOf::template store<false>(out, m, shared.own_lane(),
                                               [&](int r, int k) { return term.at(r, k) * factor; });
            } else {
                // Every class as if it were not the target, and then that one again, by the thread
                // that has it.
                ChunkOf::store(out, m, shared.own_lane(),
                               [&](int r, int k) { return g.of_softmax * (term.at(r, k) * factor) * g.factor; });
                // (In a function that is not inlined, so that the compiler does not take its store
                // for one of something else.)
                if (!Aligned) sync_team(); // another thread may have stored there
                const std::int64_t own = g.target - static_cast<std::int64_t>(first);
                if (own >= 0 && own < m && ChunkOf::thread_of(static_cast<int>(own)) == static_cast<int>(threadIdx.x))
                    slope_of_target<T, Aligned>(&a, row, &shared, g);
            }
        }
    }
};

} // namespace detreduce::cuda::row_kernels
