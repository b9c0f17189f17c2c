// Groups of elements, each of which is reduced on its own: everything, a row, a column, a segment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>
#include <detreduce/spec/tree_order.hpp>

#include "host/arena.hpp"
#include "host/for_each.hpp"

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

/// Bytes of the result of a group, or of both.
[[nodiscard]] inline std::size_t group_bytes(const Plan& plan) {
    return plan.result_bytes() * static_cast<std::size_t>(info(plan.request().op).results);
}

/// Columns that are copied side by side, so that each line of memory is read once: as many as a line has, of so
/// many bytes in all at most.
inline constexpr std::size_t strip_bytes = std::size_t{240} << 10, line_bytes = 64;

/// n elements of each of `columns` neighbours, into columns that lie `pitch` apart: four rows at a time, as more that
/// lie a power of two apart want the same places of the cache.
template <class T>
void copy_columns(const T* from, std::uint64_t stride, std::uint64_t n, std::uint64_t columns, T* to,
                  std::uint64_t pitch) {
    constexpr std::uint64_t at_once = 4;
    std::uint64_t i = 0;
    for (; i + at_once <= n; i += at_once) {
        const T* const rows = from + i * stride;
        for (std::uint64_t r = 0; r < at_once; ++r) // no hardware sees what comes next
            __builtin_prefetch(from + std::min(i + 2 * at_once + r, n - 1) * stride);
        for (std::uint64_t c = 0; c < columns; ++c) {
            const T of_column[at_once] = {rows[c], rows[stride + c], rows[2 * stride + c], rows[3 * stride + c]};
            __builtin_memcpy(to + c * pitch + i, of_column, sizeof of_column);
        }
    }
    for (; i < n; ++i) {
        for (std::uint64_t c = 0; c < columns; ++c)
            to[c * pitch + i] = from[i * stride + c];
    }
}

/// f(threads, group, result) for each column, of at most a tile, from a copy.
template <class T, class F>
void for_each_strip(const Plan& plan, const Inputs& in, void* out, std::uint64_t width, std::uint64_t pitch,
                    const F& f) {
    const std::uint64_t groups = plan.groups(), n = plan.request().n;
    const std::size_t bytes = group_bytes(plan);
    for_each(spec::tiles(groups, width), plan.launch().threads, [&](std::uint64_t strip) {
        const std::uint64_t first = strip * width, columns = std::min(width, groups - first);
        const Arrays<T> group = group_of<T>(plan, in, first);
        const bool binary = info(plan.request().op).inputs == 2;
        const Buffer<T> x(width * pitch), y(binary ? width * pitch : 0);
        copy_columns(group.x, group.step, n, columns, x.data(), pitch);
        if (binary) copy_columns(group.y, group.step, n, columns, y.data(), pitch);
        for (std::uint64_t c = 0; c < columns; ++c) {
            f(1u, Arrays<T>{x.data() + c * pitch, binary ? y.data() + c * pitch : nullptr, n},
              static_cast<char*>(out) + (first + c) * bytes);
        }
    });
}

/// f(threads, group, result) for each group.
template <class T, class F>
void for_each_group(const Plan& plan, const Inputs& in, void* out, const F& f) {
    const Request& r = plan.request();
    const std::uint32_t threads = plan.launch().threads;
    if (detail::is_across(r.shape) && r.n > 1 && r.n <= spec::TreeOrder<sizeof(T)>::tile) {
        const std::uint64_t pitch = r.n + line_bytes / sizeof(T), // not a power of two apart
            fit = strip_bytes / (sizeof(T) * pitch * info(r.op).inputs),
                            width = std::min({line_bytes / sizeof(T), fit, spec::tiles(plan.groups(), threads)});
        if (width > 1) return for_each_strip<T>(plan, in, out, width, pitch, f);
    }
    const std::size_t bytes = group_bytes(plan);
    for_each_or_together(plan.groups(), threads, [&](std::uint64_t i, std::uint32_t together) {
        f(together, group_of<T>(plan, in, i), static_cast<char*>(out) + i * bytes);
    });
}

} // namespace detreduce::host
