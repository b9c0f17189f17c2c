// Lists of tensors on the device: their addresses go there as a kernel's parameters, so that
// nothing is copied, and the call can be captured in a graph. The blocks of the kernel that follows
// are shared out by size.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include <detreduce/plan.hpp>

#include "policies.hpp"

namespace detreduce::cuda {

/// An array of a list, and the blocks that share it; or, of a list taken as tiles, the tiles before
/// it.
struct TensorEntry {
    const void* x;
    std::uint64_t
        second; ///< the address of y; of an op of one input: how many elements of the list are before this tensor
    std::uint64_t n;
    std::uint32_t first, blocks, index; ///< first: block, or tile
};

/// What fits into a kernel's parameters: 32 KiB since CUDA 12.1, 4 KiB before.
#if CUDART_VERSION >= 12010
inline constexpr std::uint32_t tensors_at_once = 1000;
#else
inline constexpr std::uint32_t tensors_at_once = 120;
#endif

/// Tensors of one dtype, as parameters.
struct TensorParts {
    struct Part {
        const void* x;
        std::uint64_t second, n;
        std::uint32_t first, index;
    };
    std::uint64_t tiles = 0; ///< unless 0, blocks take equal shares of these
    std::uint32_t count = 0, blocks = 0;
    Part part[tensors_at_once];
};

/// Of parts of which each says the first block, or warp, that works on it: the last whose first is
/// `number` or before.
template <class Parts>
[[nodiscard]] DETREDUCE_HD std::uint32_t find_part(const Parts& parts, std::uint32_t number) {
    std::uint32_t low = 0, high = parts.count;
    while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        (parts.part[middle].first <= number ? low : high) = middle;
    }
    return low;
}

/// Where a list is in a workspace, `begin` bytes after whatever comes first there.
struct TensorListLayout {
    std::size_t entries, blocks, end;

    explicit constexpr TensorListLayout(std::size_t begin)
        : entries(begin), blocks(entries + align(tensors_at_once * sizeof(TensorEntry))),
          end(blocks + align((policy::most_tensor_blocks + tensors_at_once) * sizeof(std::uint32_t))) {}
    [[nodiscard]] static constexpr std::size_t align(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
    [[nodiscard]] TensorEntry* entries_in(void* workspace) const {
        return reinterpret_cast<TensorEntry*>(static_cast<char*>(workspace) + entries);
    }
    [[nodiscard]] std::uint32_t* blocks_in(void* workspace) const {
        return reinterpret_cast<std::uint32_t*>(static_cast<char*>(workspace) + blocks);
    }
};

/// A way through the tensors of one dtype. Those of none are left out.
class TensorCursor {
  public:
    TensorCursor(const Plan& plan, const Inputs& in, DType dtype);
    [[nodiscard]] bool done() const { return left_ == 0; }
    /// As many of the next as fit. Each gets its share of `blocks` blocks, but no more than have
    /// `useful` elements each.
    [[nodiscard]] TensorParts take(double blocks, double useful);
    /// As many of the next as fit, as tiles of `tile` elements, the last of each tensor being what
    /// remains. How many blocks share them is for the caller to say: policy::most_tensor_blocks
    /// at most.
    [[nodiscard]] TensorParts take_tiles(std::uint64_t tile);

  private:
    /// place(tensor, part) for as many of the next as fit, unless it says false: no more.
    template <class Place>
    [[nodiscard]] TensorParts take_next(const Place& place);
    const Tensor* x_;
    const Tensor* y_;
    std::uint64_t count_, all_ = 0, left_ = 0, next_ = 0, before_ = 0;
    DType dtype_;
};

/// Enqueues what puts the list, and for each block the entry that it works on, into the workspace;
/// and zeros at `zeros`.
[[nodiscard]] Status upload_tensors(const TensorParts& parts, const TensorListLayout& layout, void* workspace,
                                    std::int64_t* zeros, int zero_count, Stream stream);

} // namespace detreduce::cuda
