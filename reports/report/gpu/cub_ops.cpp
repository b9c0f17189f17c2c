#include "cub_ops.hpp"

#include <limits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace detreduce::report::gpu {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();

template <class F>
std::optional<Contender> of_dtype(DType dtype, const F& f) {
    switch (dtype) {
    case DType::f16:
        return f(CubOps<__half>{});
    case DType::bf16:
        return f(CubOps<__nv_bfloat16>{});
    case DType::f32:
        return f(CubOps<float>{});
    default:
        return f(CubOps<double>{});
    }
}

} // namespace

std::optional<Contender> cub_op_contender(Op op, DType dtype, std::uint64_t n) {
    if (n > most || has_8_bits(dtype)) return std::nullopt; // CUB does not add 8 bits
    if (op != Op::sum && op != Op::mean) return of_dtype(dtype, [&](auto ops) { return ops.flat(op, n); });
    Contender sum = cub_contender(dtype, n);
    if (op == Op::mean) sum.variant = "mean";
    return sum;
}

std::optional<Contender> cub_rows_contender(Op op, DType dtype, std::uint64_t n, std::uint64_t length) {
    return n > most ? std::nullopt : of_dtype(dtype, [&](auto ops) { return ops.rows(op, n, length); });
}

std::optional<Contender> cub_segments_contender(Op op, DType dtype, const SegmentOffsets& segments) {
    return segments.n > most ? std::nullopt : of_dtype(dtype, [&](auto ops) { return ops.segments(op, segments); });
}

} // namespace detreduce::report::gpu
