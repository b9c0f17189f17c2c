// Groups of elements, each of which is reduced on its own: everything, a row, a column, a segment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <detreduce/plan.hpp>

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

/// f(threads, group, result) for each group.
template <class T, class F>
void for_each_group(const Plan& plan, const Inputs& in, void* out, const F& f) {
    const std::size_t bytes = group_bytes(plan);
    for_each_or_together(plan.groups(), plan.launch().threads, [&](std::uint64_t i, std::uint32_t threads) {
        f(threads, group_of<T>(plan, in, i), static_cast<char*>(out) + i * bytes);
    });
}

} // namespace detreduce::host
