#include <detreduce/fp/convert.hpp>

#include "for_each.cuh"
#include "rounded.cuh"
#include "widen/widen.hpp"

namespace detreduce::cuda {
namespace {

constexpr std::uint32_t most_blocks = 4096; // more than any device holds at once

/// Rows of `length` elements, `stride` apart.
struct Extent {
    std::uint64_t rows, length, stride;
    [[nodiscard]] std::uint64_t elements() const { return rows * length; }
};

Extent extent_of(const Request& r) {
    const detail::Strides strides = detail::strides_of(r);
    if (detail::is_across(r.shape)) return {r.n, r.groups, strides.element};
    return {detail::is_matrix(r.shape) ? r.groups : 1, r.n, strides.group};
}

std::size_t bytes_of_one(const Request& r) {
    return (extent_of(r).elements() * sizeof(float16) + 255) / 256 * 256;
}

/// Eight elements at a time, which are written at once; the last ones one by one.
template <class T>
struct Widen {
    static constexpr int each = 8;
    struct alignas(16) Eight {
        float16 v[each];
    };
    const T* x;
    std::uint64_t count, length, stride;
    float16* to;

    __device__ __forceinline__ void operator()(std::uint64_t which) const {
        const std::uint64_t i = which * each;
        std::uint64_t row = i / length, column = i % length;
        const int here = static_cast<int>(count - i < each ? count - i : each);
        Eight eight;
        for (int k = 0; k < here; ++k) {
            eight.v[k] = rounded_to<float16>(fp::widen(x[row * stride + column]));
            if (++column == length) {
                column = 0;
                ++row;
            }
        }
        if (here == each) {
            *reinterpret_cast<Eight*>(to + i) = eight; // `to` is aligned to 256 bytes
        } else {
            for (int k = 0; k < here; ++k)
                to[i + static_cast<std::uint64_t>(k)] = eight.v[k];
        }
    }
};

template <class T>
requires fp::embeds_in<T, float16> Status launch(const Extent& extent, const void* x, void* to, Stream stream) {
    const Widen<T> widen{static_cast<const T*>(x), extent.elements(), extent.length, extent.stride,
                         static_cast<float16*>(to)};
    return for_each((widen.count + widen.each - 1) / widen.each, widen, stream, most_blocks);
}

} // namespace

std::size_t widened_bytes(const Request& r) {
    return bytes_of_one(r) * static_cast<std::size_t>(info(r.op).inputs);
}

Status launch_widen(const Plan& plan, const Inputs& in, void* memory, Inputs& wide, Stream stream) {
    const Request& r = plan.request();
    const Extent extent = extent_of(r);
    wide = in;
    const auto widen = [&](const void*& x, std::size_t offset) -> Status {
        if (extent.elements() == 0) return {};
        void* const to = static_cast<char*>(memory) + offset;
        const Status launched =
            with_dtype_of_8_bits(r.dtype, [&]<class T>(T) { return launch<T>(extent, x, to, stream); });
        x = to;
        return launched;
    };
    const Status bad = widen(wide.x, 0);
    return bad.ok() && info(r.op).inputs == 2 ? widen(wide.y, bytes_of_one(r)) : bad;
}

} // namespace detreduce::cuda
