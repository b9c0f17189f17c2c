// Host side of list.hpp, and the kernel that stores what came as its parameters.
#include <algorithm>
#include <cmath>

#include "for_each.cuh"
#include "platform/grid.cuh"
#include "tensors/list.hpp"

namespace detreduce::cuda {
namespace {

struct Upload {
    TensorParts parts;
    TensorEntry* entries;
    std::uint32_t* tensor_of_block;
    std::int64_t* zeros;
    std::uint32_t zero_count;

    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        let_next_kernel_start();
        if (i < zero_count) zeros[i] = 0;
        if (i >= parts.count) return;
        // Of tiles block b has those from b·tiles / blocks on, rounded down; this is the first
        // block that begins with tile `first` or behind it.
        const auto block_of = [&](std::uint64_t first) {
            return parts.tiles == 0 ? first : (first * parts.blocks + parts.tiles - 1) / parts.tiles;
        };
        const TensorParts::Part& p = parts.part[i];
        const auto begin = static_cast<std::uint32_t>(block_of(p.first)),
                   end = i + 1 < parts.count ? static_cast<std::uint32_t>(block_of(parts.part[i + 1].first))
                                             : parts.blocks;
        entries[i] = {p.x, p.second, p.n, p.first, end - begin, p.index};
        for (std::uint32_t b = begin; b < end; ++b)
            tensor_of_block[b] = static_cast<std::uint32_t>(i);
    }
};

} // namespace

TensorCursor::TensorCursor(const Plan& plan, const Inputs& in, DType dtype)
    : x_(static_cast<const Tensor*>(in.x)), y_(static_cast<const Tensor*>(in.y)), count_(plan.request().groups),
      dtype_(dtype) {
    for (std::uint64_t i = 0; i < count_; ++i) {
        if (x_[i].dtype == dtype) all_ += x_[i].n;
    }
    left_ = all_;
}

template <class Place>
TensorParts TensorCursor::take_next(const Place& place) {
    TensorParts parts;
    for (; next_ < count_ && parts.count < tensors_at_once; ++next_) {
        const Tensor& t = x_[next_];
        if (t.dtype == dtype_ && t.n != 0) {
            const std::uint64_t second = y_ ? reinterpret_cast<std::uintptr_t>(y_[next_].data) : before_;
            parts.part[parts.count] = {t.data, second, t.n, 0, static_cast<std::uint32_t>(next_)};
            if (!place(parts, parts.part[parts.count])) break;
            ++parts.count;
            left_ -= t.n;
        }
        before_ += t.n;
    }
    return parts;
}

TensorParts TensorCursor::take(double blocks, double useful) {
    blocks = std::min<double>(blocks, policy::most_tensor_blocks);
    return take_next([&](TensorParts& parts, TensorParts::Part& part) {
        const auto n = static_cast<double>(part.n);
        part.first = parts.blocks;
        parts.blocks +=
            static_cast<std::uint32_t>(std::ceil(std::min(blocks * n / static_cast<double>(all_), n / useful)));
        return true;
    });
}

TensorParts TensorCursor::take_tiles(std::uint64_t tile) {
    return take_next([&](TensorParts& parts, TensorParts::Part& part) {
        if (parts.tiles > UINT32_MAX) return false; // `first` has no room for it; there is a tensor before this one
        part.first = static_cast<std::uint32_t>(parts.tiles);
        parts.tiles += (part.n + tile - 1) / tile;
        return true;
    });
}

Status upload_tensors(const TensorParts& parts, const TensorListLayout& layout, void* workspace, std::int64_t* zeros,
                      int zero_count, Stream stream) {
    const Upload upload{parts, layout.entries_in(workspace), layout.blocks_in(workspace), zeros,
                        static_cast<std::uint32_t>(zero_count)};
    return for_each(std::max<std::uint64_t>(parts.count, upload.zero_count), upload, stream);
}

} // namespace detreduce::cuda
