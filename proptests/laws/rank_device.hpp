// What a rank has of a reduction (rank_draws.hpp), on a GPU.
#pragma once

#include "laws/device_memory.hpp"
#include "laws/rank_draws.hpp"

namespace detreduce::proptests {

/// A rank's share in device memory, each array `offset` elements after a boundary, and room for
/// what comes of it.
template <class T>
struct OnRank {
    OnDevice<T> x, y;
    OnDevice<std::uint64_t> offsets;
    std::vector<Tensor> x_list, y_list;
    DeviceBuffer out;

    OnRank(const Share<T>& share, std::size_t bytes, unsigned offset = 0)
        : x(share.x, offset), y(share.y, offset / 2), offsets(share.offsets, 0), x_list(share.x_list),
          y_list(share.y_list), out(bytes) {
        std::uint64_t at = 0;
        for (std::size_t i = 0; i < x_list.size(); at += x_list[i++].n) {
            x_list[i].data = x.data + at;
            y_list[i].data = y.data + at;
        }
        out.fill(0x5a, bytes);
    }
    [[nodiscard]] Inputs inputs(const Request& r) const {
        const bool two = info(r.op).inputs == 2;
        if (r.shape == Shape::tensors) return {x_list.data(), two ? y_list.data() : nullptr};
        return {x.data, two ? y.data : nullptr, r.shape == Shape::segments ? offsets.data : nullptr};
    }
    /// What is in `out`, which nothing may have been written beside.
    [[nodiscard]] Bytes results(std::size_t bytes) const {
        Bytes found(bytes);
        CUDA_CHECK(cudaMemcpy(found.data(), out.data(), bytes, cudaMemcpyDeviceToHost));
        if (!out.guards_intact()) throw_if_error({StatusCode::invalid_argument, "test", "stray writes"});
        return found;
    }
};

} // namespace detreduce::proptests
