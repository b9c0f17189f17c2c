// The nearest algorithm of CUB to each op and shape, as its users would call it: temporary storage
// allocated once. What comes behind it, a square root or a division, is not in its time. Sums of
// products, squares and the like of 16-bit elements are kept in f32. Compiled as all else here is,
// so without fused multiply-add.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "contenders.hpp"

namespace detreduce::report::gpu {

/// Over the same bytes as method_contender() reads; the variant is the op, but of the sum none.
/// Nothing where CUB has no algorithm for the op, where n takes more than 32 bits, or where the
/// toolkit's CUB is older than 3.0.
[[nodiscard]] std::optional<Contender> cub_op_contender(Op op, DType dtype, std::uint64_t n);

/// Sum and argmax of rows of `length` elements, whose offsets CUB computes. As above, and of argmax
/// n is below 2^31: CUB counts its elements with an int.
[[nodiscard]] std::optional<Contender> cub_rows_contender(Op op, DType dtype, std::uint64_t n, std::uint64_t length);

/// The same of segments, at offsets on the device.
struct SegmentOffsets {
    std::shared_ptr<DeviceMemory> offsets; ///< std::uint64_t, one more than segments
    std::uint64_t segments, n;
    std::string name;
};
[[nodiscard]] std::optional<Contender> cub_segments_contender(Op op, DType dtype, const SegmentOffsets& segments);

/// Of one type of elements, each in a file of its own; n fits in 32 bits.
template <class T>
struct CubOps {
    [[nodiscard]] static std::optional<Contender> flat(Op op, std::uint64_t n);
    [[nodiscard]] static std::optional<Contender> rows(Op op, std::uint64_t n, std::uint64_t length);
    [[nodiscard]] static std::optional<Contender> segments(Op op, const SegmentOffsets& segments);
};

} // namespace detreduce::report::gpu
