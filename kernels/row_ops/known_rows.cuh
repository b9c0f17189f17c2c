// The gradients of logsumexp and of cross entropy with respect to x, and softmax, of rows whose
// sums are known, as forward has kept them or a kernel before has found them: each element on its
// own, read once. Where weights or probabilities of all classes are added up, LongExpRow does it.
#pragma once

#include "row_ops/exp_rows.cuh"

namespace detreduce::cuda::row_kernels {

/// A warp a chunk. Count: as Chunk says.
template <class T, bool Aligned, int Count = spec::rows_per_chunk>
struct KnownExpRow {
    using V = fp::Arithmetic<T>;
    using Arguments = ChunkRows<T>;
    using ChunkOf = Chunk<T, Aligned, Count>;
    using Sum = spec::ExpSum<T>;
    using Memory = ChunkMemory<T, !Aligned>;                     // f32 of 16-bit elements is stored through it
    static constexpr bool whole = Count == spec::rows_per_chunk; ///< else a row is no more
    static constexpr int whole_blocks = fp::is_f64<T> ? policy::known_row_blocks_f64
                                        : Aligned     ? policy::known_row_blocks
                                                      : policy::moved_known_row_blocks;
    static constexpr int blocks = whole ? whole_blocks : policy::half_known_row_blocks;
    static constexpr bool repeats = false;

    static __device__ __forceinline__ void run(const Arguments& a, std::uint64_t i, const Teams<Memory>& teams) {
        if (i >= a.rows) return;
        const auto [row, first, m, x] = a.template part<!whole>(i);
        ChunkOf chunk;
        chunk.template load<true>(x, m, T{}); // bf16 rows of 1024 .82 of a copy to .91, others .94 to .98
        V* const space = teams.memory(threadIdx.y).space;
        const RowOut<T> out = RowOut<T>::of(a, row).from(first);
        // All that is known of the row is asked for at once.
        const V kept[2] = {a.exp_sums[2 * row], a.exp_sums[2 * row + 1]}, factor = factor_of(a, row);
        const std::int64_t of_row = a.targets != nullptr ? a.targets[row] : -1;
        V of_softmax{1};
        std::int64_t target = -1; // in the chunk
        if (a.targets != nullptr) {
            const auto c = spec::RowClass<V>::of(of_row, a.ignore_index, a.n);
            if (!c.there) return put_same(out, m, c.otherwise);
            of_softmax = weight_of(a, static_cast<std::uint64_t>(of_row));
            target = of_row - static_cast<std::int64_t>(first);
        }
        const Sum e = Sum::of_kept(kept, a.z_loss != 0);
        if (e.is_special()) return put_same(out, m, spec::quiet_nan<V>);
        const bool is_here = target >= 0 && target < m;
        const V own = of_softmax, at_target = is_here ? fp::widen(load_number(x + target)) : V{0},
                z = a.smoothed.z_slope(a.z_loss, e.logsumexp()), all = static_cast<V>(a.n);
        of_softmax = a.smoothed.with_z_slope(a.smoothed.of_softmax(own, all), z, V{1});
        // Every class as if it were not the target, and then that one again, by the thread that
        // has it.
        const StepsOf<T> steps;
        ChunkOf::template store<true, true>(out, m, space, [&](int r, int k) {
            return a.smoothed.slope(e.softmax(chunk.here(r, k), steps), of_softmax) * factor;
        });
        if (!is_here) return;
        if (!Aligned) sync_warp(); // another thread may have stored there
        if (ChunkOf::thread_of(static_cast<int>(target)) == static_cast<int>(threadIdx.x))
            put_target(&a, out.from(static_cast<std::uint64_t>(target)), e, at_target, own, all, z, factor);
    }

  private:
    /// One value for the chunk.
    static __device__ __noinline__ void put_same(RowOut<T> out, int m, V value) {
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < m; i += warp_size)
            out.put(static_cast<std::uint64_t>(i), value);
    }
    /// Not inlined, so that the compiler does not take its store for one of something else than the
    /// store of 16 bytes before it.
    static __device__ __noinline__ void put_target(const Arguments* a, RowOut<T> out, Sum e, V x, V own, V all, V z,
                                                   V factor) {
        const V p = e.softmax(x);
        out.put(0, a->smoothed.target_slope(p, e.softmax_less_one(x, p), all, own, z) * factor);
    }
};

} // namespace detreduce::cuda::row_kernels
