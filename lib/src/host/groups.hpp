// Groups of elements, each of which is reduced on its own: everything, a row, a column, a segment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/fp/format.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "host/arena.hpp"
#include "host/for_each.hpp"
#include "state_form.hpp"

namespace detreduce::host {

/// n elements of type T, `step` apart: y for ops of two inputs only.
template <class T>
struct Arrays {
    const T* x;
    const T* y;
    std::uint64_t n;
    std::uint64_t step = 1;

    [[nodiscard]] Arrays part(std::uint64_t begin, std::uint64_t count) const {
        return {x + begin * step, y ? y + begin * step : nullptr, std::min(count, n - begin), step};
    }
};

/// Some elements, at most a tile, as neighbours, of one array or two: a copy, where they are not.
template <class T>
class Neighbours {
  public:
    explicit Neighbours(const Arrays<T>& from) : in(from), copies_(from.step == 1 ? 0 : from.y ? 2 * from.n : from.n) {
        if (from.step == 1) return;
        in = {copy(from.x, from, copies_.data()), from.y ? copy(from.y, from, copies_.data() + from.n) : nullptr,
              from.n};
    }
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;

    Arrays<T> in;

  private:
    static const T* copy(const T* from, const Arrays<T>& a, T* to) {
        for (std::uint64_t i = 0; i < a.n; ++i)
            to[i] = from[i * a.step];
        return to;
    }
    Buffer<T> copies_;
};

/// The i-th group of a plan.
template <class T>
[[nodiscard]] Arrays<T> group_of(const Plan& plan, const Inputs& in, std::uint64_t i) {
    const Request& r = plan.request();
    const detail::Strides strides = detail::strides_of(r);
    std::uint64_t begin = i * strides.group, n = r.n;
    if (r.shape == Shape::segments) {
        begin = in.offsets[i];
        n = in.offsets[i + 1] - begin;
    }
    if (n == 0) return {nullptr, nullptr, 0};
    return {static_cast<const T*>(in.x) + begin, in.y ? static_cast<const T*>(in.y) + begin : nullptr, n,
            strides.element};
}

/// Bytes of columns that are copied beside each other, and of what is kept of them, at most: what
/// terms and their errors leave of the arena.
template <class T>
inline constexpr std::size_t strip_bytes = arena_bytes -
                                           2 * spec::TreeOrder<sizeof(T)>::tile * sizeof(fp::Arithmetic<T>) -
                                           (std::size_t{8} << 10);
/// So many columns, as a line of memory is then read once, or a few less: a multiple of these.
inline constexpr std::uint64_t columns_side_by_side = 8, line_bytes = 64;

/// n elements of each of `columns` neighbours, into columns that lie `pitch` apart: by blocks,
/// whose elements stay in registers.
template <class T>
void copy_columns(const T* from, std::uint64_t stride, std::uint64_t n, std::uint64_t columns, T* to,
                  std::uint64_t pitch) {
    constexpr std::uint64_t at_once = 4, side_by_side = columns_side_by_side;
    const auto block = [=](std::uint64_t i, std::uint64_t c) {
        T part[side_by_side][at_once];
#pragma GCC unroll 4
        for (std::uint64_t r = 0; r < at_once; ++r) {
#pragma GCC unroll 8
            for (std::uint64_t k = 0; k < side_by_side; ++k)
                part[k][r] = from[(i + r) * stride + c + k];
        }
#pragma GCC unroll 8
        for (std::uint64_t k = 0; k < side_by_side; ++k)
            __builtin_memcpy(to + (c + k) * pitch + i, part[k], sizeof part[k]);
    };
    const std::uint64_t whole_rows = n / at_once * at_once, whole_columns = columns / side_by_side * side_by_side;
    for (std::uint64_t i = 0; i < whole_rows; i += at_once) {
        for (std::uint64_t r = 0; r < at_once; ++r) // no hardware sees what comes next
            __builtin_prefetch(from + std::min(i + 2 * at_once + r, n - 1) * stride);
        for (std::uint64_t c = 0; c < whole_columns; c += side_by_side)
            block(i, c);
    }
    for (std::uint64_t i = 0; i < n; ++i) {
        for (std::uint64_t c = i < whole_rows ? whole_columns : 0; c < columns; ++c)
            to[c * pitch + i] = from[i * stride + c];
    }
}

/// Elements from one copied column to the next: not a power of two.
template <class T>
[[nodiscard]] constexpr std::uint64_t column_pitch(std::uint64_t n) {
    return n + line_bytes / sizeof(T);
}

/// How many columns of n elements, of one array or two, for_each_column() takes at once: a line of
/// memory, or what there is room for, `kept` bytes of each beside it; at most `most`.
template <class T>
[[nodiscard]] constexpr std::uint64_t columns_at_once(std::uint64_t n, std::uint64_t arrays, std::uint64_t kept,
                                                      std::uint64_t most) {
    const std::uint64_t fit = strip_bytes<T> / (sizeof(T) * column_pitch<T>(n) * arrays + kept),
                        width = std::min({line_bytes / sizeof(T), fit, most});
    return width < columns_side_by_side ? width : width / columns_side_by_side * columns_side_by_side;
}

/// f(c, column) for each of `columns` neighbours, as neighbouring elements, from a copy. `first` is
/// the first of them, or a part of it of at most a tile.
template <class T, class F>
void for_each_column(const Arrays<T>& first, std::uint64_t columns, const F& f) {
    const std::uint64_t n = first.n, pitch = column_pitch<T>(n);
    const Buffer<T> x(columns * pitch), y(first.y ? columns * pitch : 0);
    copy_columns(first.x, first.step, n, columns, x.data(), pitch);
    if (first.y) copy_columns(first.y, first.step, n, columns, y.data(), pitch);
    for (std::uint64_t c = 0; c < columns; ++c)
        f(c, Arrays<T>{x.data() + c * pitch, first.y ? y.data() + c * pitch : nullptr, n});
}

/// f(threads, group, result) for each group.
template <class T, class F>
void for_each_group(const Plan& plan, const Inputs& in, void* out, const F& f) {
    const Request& r = plan.request();
    const std::uint32_t threads = plan.launch().threads;
    const std::uint64_t groups = plan.groups();
    const std::size_t bytes = detail::group_bytes(plan);
    const auto result = [=](std::uint64_t i) { return static_cast<char*>(out) + i * bytes; };
    if (detail::is_across(r.shape) && r.n > 1 && r.n <= spec::TreeOrder<sizeof(T)>::tile) {
        const std::uint64_t width = columns_at_once<T>(r.n, info(r.op).inputs, 0, spec::tiles(groups, threads));
        if (width > 1) {
            return for_each(spec::tiles(groups, width), threads, [&](std::uint64_t strip) {
                const std::uint64_t first = strip * width, columns = std::min(width, groups - first);
                for_each_column(group_of<T>(plan, in, first), columns,
                                [&](std::uint64_t c, const Arrays<T>& column) { f(1u, column, result(first + c)); });
            });
        }
    }
    for_each_or_together(groups, threads, [&](std::uint64_t i, std::uint32_t together) {
        f(together, group_of<T>(plan, in, i), result(i));
    });
}

} // namespace detreduce::host
