// Sums of exponentials: of a warp's chunk, without its maximum, and of a team's (lib/SPEC.md,
// section 17.1).
#pragma once

#include "row_ops/team.cuh"

namespace detreduce::cuda::row_kernels {

/// spec::ExpSteps of a warp: thread i knows that of i. All threads ask at once.
struct StepsOfWarp {
    std::uint32_t own = spec::ExpSteps{}(threadIdx.x);
    [[nodiscard]] __device__ __forceinline__ std::uint32_t operator()(std::uint32_t q) const {
        return shuffle_from(own, q);
    }
};
template <class T>
using StepsOf = std::conditional_t<fp::has_16_bits<T>, StepsOfWarp, spec::ExpSteps>;

/// What a warp knows of its chunk: the maximum z, whose first element is taken out. Keeps: the
/// chunk stays as it is, and that element's lane is added up apart, which takes longer.
template <class T, bool Aligned, bool Keeps, int Count = spec::rows_per_chunk>
struct ExpChunk {
    using V = fp::Arithmetic<T>;
    using ChunkOf = Chunk<T, Aligned, Count>;
    static constexpr int K = ChunkOf::K, rows = ChunkOf::rows, lanes = ChunkOf::lanes;
    static constexpr bool in_pairs = fp::has_16_bits<T> && DETREDUCE_GPU_HAS_BF16;
    V maximum;
    int rows_there; ///< of the others the terms are +0
    spec::ExpReference<V> reference;
    StepsOf<T> steps;
    bool is_owner; ///< of the element that is taken out
    int lane;      ///< of that element, if the chunk stays
    V sum;         ///< of that lane, without it

    /// Of a tile of m elements. If `chunk` does not stay, −∞ takes the place of what is taken out.
    /// `space`: the warp's lanes, in shared memory.
    [[nodiscard]] static __device__ __forceinline__ ExpChunk of(ChunkOf& chunk, int m, V* space) {
        const int left = m - static_cast<int>(threadIdx.x / warp_size) * (rows * lanes);
        // All threads have the same number. The compiler knows that of a warp's maximum alone:
        // without, it has two copies of each shuffle behind a branch on it.
        const int there = warp_max(left <= 0 ? 0 : (left + lanes - 1) / lanes);
        ExpChunk c{V{}, there, {}, {}, false, 0, V{}};
        const std::uint32_t rows_of_maximum = c.find_maximum(chunk);
        c.reference = spec::ExpReference<V>::template at<T>(c.maximum);
        c.take_out(chunk, rows_of_maximum, reinterpret_cast<T*>(space));
        return c;
    }
    [[nodiscard]] __device__ __forceinline__ spec::ExpTerm<V> term(const ChunkOf& chunk, int r, int k) const {
        return reference.template term<T>(chunk.here(r, k), steps);
    }
    /// Each of the thread's lanes: f(r, k, term, sum) adds a term; absent(r, k) is called of rows
    /// that are not there. Two rows at once: the terms of an absent one are +0, or else the chunk
    /// is so low that it counts for nothing in any row that is not special.
    template <class F, class Absent>
    __device__ __forceinline__ void add_rows(const ChunkOf& chunk, V (&sums)[K], const F& f,
                                             const Absent& absent) const {
#pragma unroll
        for (int k = 0; k < K; ++k)
            sums[k] = 0;
#pragma unroll
        for (int first = 0; first < rows; first += 2) {
            if (first < rows_there) { // all threads, or none
#pragma unroll
                for (int r = first; r < first + 2; ++r) {
#pragma unroll
                    for (int k = 0; k < K; ++k)
                        sums[k] = f(r, k, term(chunk, r, k), sums[k]);
                }
            } else {
#pragma unroll
                for (int i = 0; i < 2 * K; ++i)
                    absent(first + i / K, i % K);
            }
        }
    }
    __device__ __forceinline__ void add_rows(const ChunkOf& chunk, V (&sums)[K]) const {
        add_rows(
            chunk, sums, [](int, int, const auto& t, V sum) { return t.added_to(sum); }, [](int, int) {});
    }
    /// What is known of the chunk, whose lanes have these sums: to the first thread. `space`: as
    /// of() has it.
    [[nodiscard]] __device__ __forceinline__ ChunkSum<V> of_lanes(const V (&sums)[K], V* space) const {
        put_lanes(space, sums);
        if (Keeps && is_owner) space[lane] = sum;
        sync_warp();
        return {maximum, sum_of_warp<K>(space)};
    }

  private:
    /// The warp's maximum z, and a bit for each row in which the thread has it.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t find_maximum(const ChunkOf& chunk) {
        std::uint32_t found = 0;
        V most = spec::exp_lowest<V>;
        if constexpr (in_pairs) {
            std::uint32_t of_row[rows], of_both = both_of(chunk, 0);
            of_row[0] = of_both;
#pragma unroll
            for (int r = 1; r < rows; ++r) {
                of_row[r] = both_of(chunk, r); // what is not there is −∞
                of_both = greater_of_both<T>(of_both, of_row[r]);
            }
            most = greater_number(greater_number(most, ChunkOf::low(of_both)), ChunkOf::high(of_both));
            maximum = maximum_of_warp(most);
            // Exact: it is one of them, or exp_lowest.
            const std::uint32_t bound = both_of_f32<T>(maximum, maximum);
#pragma unroll
            for (int r = 0; r < rows; ++r)
                found |= not_less_of_both<T>(of_row[r], bound) & 0x10001u << r;
            return (found | found >> 16) & 0xffffu;
        } else {
            V of_row[rows];
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                of_row[r] = spec::exp_lowest<V>;
#pragma unroll
                for (int k = 0; k < K; ++k)
                    of_row[r] = greater_number(of_row[r], chunk.at(r, k));
                most = greater_number(most, of_row[r]);
            }
            maximum = maximum_of_warp(most);
#pragma unroll
            for (int r = 0; r < rows; ++r)
                found |= of_row[r] >= maximum ? 1u << r : 0u;
            return found;
        }
    }
    /// The maximum of the first, third, … and of the second, fourth, … of a row.
    [[nodiscard]] static __device__ __forceinline__ std::uint32_t both_of(const ChunkOf& chunk, int r) {
        const auto& w = chunk.words[r].w;
        return greater_of_both<T>(greater_of_both<T>(w[0], w[1]), greater_of_both<T>(w[2], w[3]));
    }
    /// Finds the first element that is the maximum, where the rows of the thread that has it lie in
    /// `space`.
    __device__ __forceinline__ void take_out(ChunkOf& chunk, std::uint32_t rows_of_maximum, T* space) {
        // Of numbers that count as exp_lowest the first is taken out, whatever they are.
        const bool some = maximum > spec::exp_lowest<V> && rows_of_maximum != 0;
        const auto first_row = static_cast<std::uint32_t>(__ffs(static_cast<int>(rows_of_maximum))) - 1;
        const std::uint32_t thread = threadIdx.x % warp_size;
        const std::uint32_t first = warp_min(some ? first_row * warp_size + thread : 0x7fffffffu);
        const bool known = first < rows * warp_size;
        const std::uint32_t row = known ? first / warp_size : 0, owner = known ? first % warp_size : 0;
        is_owner = thread == owner;
        auto* const all = reinterpret_cast<uint4*>(space);
        if (is_owner) {
#pragma unroll
            for (int r = 0; r < rows; ++r)
                all[r] = __builtin_bit_cast(uint4, chunk.words[r]);
        }
        sync_warp();
        const std::uint32_t numbers = votes_of_warp(fp::widen(space[row * K + thread % K]) >= maximum);
        const auto k = known ? static_cast<std::uint32_t>(__ffs(static_cast<int>(numbers))) - 1 : 0u;
        if constexpr (Keeps) {
            lane = static_cast<int>(owner * K + k);
            const V own = fp::widen(space[thread % rows * K + k]);
            auto term = reference.template term<T>(own, steps);
            if (thread % rows == row && own == own) term.scale = 0;
            sum = 0;
#pragma unroll
            for (int r = 0; r < rows; ++r)
                sum = spec::ExpTerm<V>{shuffle_from(term.mantissa, r), shuffle_from(term.scale, r)}.added_to(sum);
        } else { // −∞ in its place adds +0, or the chunk is so low that it counts for nothing (add_rows())
            sync_warp();
            T& found = space[row * K + k];
            if (is_owner && !fp::is_nan(found)) found = lowest_of<T>;
            sync_warp(); // the compiler may else load what was there before
            if (is_owner) {
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    chunk.words[r] = __builtin_bit_cast(typename ChunkOf::Words, all[r]);
            }
        }
        sync_warp(); // the space is used again
    }
};

/// The state of Count neighbours, of which the first `there` exist. The others change the state of
/// a special row alone, which is not used. All threads ask at once.
template <int Count, class T, class V, class Steps>
__device__ __forceinline__ spec::ExpState<T> state_of_chunks(const ChunkSum<V>* of, int there, const Steps& steps) {
    spec::ExpState<T> part[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        const ChunkSum<V> c = i < there ? of[i] : ChunkSum<V>{spec::exp_lowest<V>, V{0}};
        part[i] = spec::ExpState<T>::of(c.maximum, c.sum, steps);
    }
    return merge_neighbours(part);
}
/// The state of a tile, or of part of one, of `chunks` chunks, a power of two, that `of` has: to
/// the first thread, by the first warp.
template <class T, class V, class Steps>
__device__ __forceinline__ spec::ExpState<T> merged_chunks(const ChunkSum<V>* of, std::uint32_t chunks,
                                                           const Steps& steps) {
    const ChunkSum<V> c = of[threadIdx.x & (chunks - 1)];
    auto own = spec::ExpState<T>::of(c.maximum, c.sum, steps);
#pragma unroll
    for (int distance = 1; distance < most_warps; distance *= 2)
        if (distance < static_cast<int>(chunks)) own.merge(shuffle_down(own, distance));
    return own;
}
/// Of what each warp's first thread knows of its chunk: to the first thread.
template <class T, class V, class Steps>
__device__ __forceinline__ spec::ExpState<T> team_state(const ChunkSum<V>& own, Shared<T>& s, const Steps& steps) {
    const std::uint32_t warps = blockDim.x / warp_size;
    if (warps == 1) return spec::ExpState<T>::of(own.maximum, own.sum, steps);
    if (threadIdx.x % warp_size == 0) s.chunks[threadIdx.x / warp_size] = own;
    sync_team();
    if (threadIdx.x >= warp_size) return {};
    return merged_chunks<T>(s.chunks, warps, steps);
}
/// The same of a row whose chunks are dealt out to a cluster's warps, in order: to the first thread
/// of each block. `chunks`: of `tiles` tiles, stored there by all of the cluster.
template <class ClusterOf, class T, class V, class Steps>
__device__ __forceinline__ spec::ExpState<T> cluster_state(const ChunkSum<V>& own, ChunkSum<V>* chunks, Shared<T>& s,
                                                           int tiles, const Steps& steps) {
    constexpr int of_thread = static_cast<int>(policy::most_row_cluster) * most_warps / warp_size;
    static_assert(of_thread == 4 && spec::chunks_per_tile == 8);
    const int count = ClusterOf::share_of_warps(chunks, own, s.arrival);
    if (threadIdx.x >= warp_size) return {};
    const int first = static_cast<int>(threadIdx.x) * of_thread;
    auto own_chunks = state_of_chunks<of_thread, T>(chunks + first, count - first, steps);
    own_chunks.merge(shuffle_down(own_chunks, 1)); // a tile, of every other thread
#pragma unroll
    for (int distance = static_cast<int>(policy::most_row_cluster) / 2; distance >= 1; distance /= 2)
        if (distance < tiles) own_chunks.merge(shuffle_down(own_chunks, 2 * distance));
    return own_chunks;
}

} // namespace detreduce::cuda::row_kernels
