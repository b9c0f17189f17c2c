// What a kernel of row ops is told (lib/SPEC.md, section 17).
#pragma once

#include <cstdint>

#include <detreduce/row_ops.hpp>
#include <detreduce/spec/row_math.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "policies.hpp"

namespace detreduce::cuda {

template <class T>
struct Rows {
    using V = fp::Arithmetic<T>;
    const T* x;
    void* out;
    std::uint64_t first_row, rows, n, stride, out_stride;
    std::uint64_t ahead; ///< how many rows later a row is read when this one is done, about; 0: not known
    std::uint64_t tiles; ///< of a row
    /// a block's, or a row's, results of tiles, and of the levels above them, `pitch` from one to
    /// the next
    V* partials;
    std::uint64_t pitch;
    DType output;
    bool entropy; ///< of logsumexp: it is the cross entropy that is wanted
    const T *scale, *shift, *weights;
    V *mean, *rstd, *row_weights;
    V* exp_sums; ///< what logsumexp and cross entropy keep for their gradients, two numbers a row; or null
    const V* factor;
    const std::int64_t* targets;
    const T* probabilities;
    std::uint64_t probability_stride;
    std::int64_t ignore_index;
    double epsilon;
    spec::SmoothedTarget<V> smoothed;
    bool all_classes; ///< of cross entropy: does more than the target's class count, or is there a z_loss?
    bool own_factors; ///< is there a factor for each row?
    V z_loss;
};

/// Runs a plan of row ops for one element type.
template <class T>
[[nodiscard]] Status launch_rows(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream);

/// The same of the gradients that take what comes from upstream, and of that with respect to
/// probabilities.
template <class T>
[[nodiscard]] Status launch_row_grads(const RowPlan& plan, const RowArrays& arrays, void* workspace, Stream stream);

/// The gradients of a norm with respect to scale and shift by `exact`.
template <class T>
[[nodiscard]] Status launch_scale_gradient(const RowPlan& plan, const RowArrays& arrays, void* workspace,
                                           Stream stream);

/// Items of what each block that works on rows of more than one tile keeps, of numbers_of_item().
[[nodiscard]] inline std::uint64_t long_row_pitch(DType dtype, std::uint64_t n) {
    const std::uint32_t row = spec::row_bytes * spec::rows_per_chunk * spec::chunks_per_tile;
    const auto above = static_cast<std::uint32_t>(row / size_of(arithmetic_of(dtype)));
    std::uint64_t items = spec::tiles(n, row / static_cast<std::uint32_t>(size_of(dtype))), all = 0;
    if (items <= 1) return 0;
    for (;; items = spec::tiles(items, above)) {
        all += (items + 3) / 4 * 4; // every level begins at 16 bytes
        if (items == 1) return all;
    }
}

/// Numbers of what is known of the chunks of a row whose exponentials are added up, two of each.
/// None where one kernel does it all.
[[nodiscard]] inline std::uint64_t chunk_sum_numbers(const RowRequest& r) {
    const std::uint64_t chunks = spec::tiles(r.n * size_of(r.dtype), spec::row_bytes * spec::rows_per_chunk);
    const bool many = chunks > 1 && r.rows * chunks >= policy::fewest_chunks_apart;
    return many || long_row_pitch(r.dtype, r.n) > 0 ? 2 * chunks : 0;
}
/// Is there one number of a row, of a sum of exponentials?
[[nodiscard]] constexpr bool is_of_sum(RowOp op) {
    return op == RowOp::logsumexp || op == RowOp::cross_entropy;
}
/// Bytes of the sums of exponentials that softmax, or a gradient, finds before it is written, where
/// it may: two numbers a row.
[[nodiscard]] inline std::size_t found_sums_bytes(const RowRequest& r) {
    const bool is_long = long_row_pitch(r.dtype, r.n) > 0;
    const bool may = r.op == RowOp::logsumexp_gradient || (r.op == RowOp::softmax && is_long) ||
                     (r.op == RowOp::cross_entropy_gradient && (is_long || r.label_smoothing != 0 || r.z_loss != 0));
    return may ? (r.rows * 2 * size_of(arithmetic_of(r.dtype)) + 255) / 256 * 256 : 0;
}
/// Numbers of an item of what is kept of a row of more than one tile.
[[nodiscard]] constexpr std::uint64_t numbers_of_item(RowOp op) {
    switch (op) {
    case RowOp::rmsnorm:
        return 1;
    case RowOp::layernorm:
    case RowOp::softmax_gradient:
    case RowOp::log_softmax_gradient:
    case RowOp::layernorm_gradient:
    case RowOp::rmsnorm_gradient:
        return 2;
    default: // of sums of exponentials, which is the most; nll keeps nothing
        return 3;
    }
}

} // namespace detreduce::cuda
