#include "f8/f16_of_bytes.cuh"
#include "for_each.cuh"
#include "sources/load.cuh"
#include "f8/widen.hpp"

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

/// Sixteen elements at a time, of one row and where 16 bytes begin read at once, and written so;
/// the last ones one by one.
template <class T>
struct Widen {
    static constexpr int each = 16;
    const T* x;
    std::uint64_t count, length, stride;
    float16* to;

    __device__ __forceinline__ void operator()(std::uint64_t which) const {
        const std::uint64_t i = which * each;
        std::uint64_t row = length == count ? 0 : i / length, column = i - row * length;
        const T* const p = x + row * stride + column;
        const int here = static_cast<int>(count - i < each ? count - i : each);
        Pack<T, each> items{};
        if (here == each && length - column >= each && reinterpret_cast<std::uintptr_t>(p) % 16 == 0) {
            items = *reinterpret_cast<const Pack<T, each>*>(p);
        } else {
            for (int k = 0; k < here; ++k) {
                items.v[k] = x[row * stride + column];
                if (++column == length) {
                    column = 0;
                    ++row;
                }
            }
        }
        const auto words = __builtin_bit_cast(Pack<std::uint32_t, each / 4>, items);
        Pack<std::uint32_t, each / 2> halves;
#pragma unroll
        for (int k = 0; k < each / 2; ++k)
            halves.v[k] = both_f16_of<T>(words.v[k / 2], k % 2);
        const auto wide = __builtin_bit_cast(Pack<float16, each>, halves);
        if (here == each) {
            *reinterpret_cast<Pack<float16, each>*>(to + i) = wide; // `to` is aligned to 256 bytes
        } else {
            for (int k = 0; k < here; ++k)
                to[i + static_cast<std::uint64_t>(k)] = wide.v[k];
        }
    }
};

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
        const Status launched = with_dtype_of_8_bits(r.dtype, [&]<class T>(T) {
            const Widen<T> all{static_cast<const T*>(x), extent.elements(), extent.length, extent.stride,
                               static_cast<float16*>(to)};
            return for_each((all.count + all.each - 1) / all.each, all, stream, most_blocks);
        });
        x = to;
        return launched;
    };
    const Status bad = widen(wide.x, 0);
    return bad.ok() && info(r.op).inputs == 2 ? widen(wide.y, bytes_of_one(r)) : bad;
}

} // namespace detreduce::cuda
