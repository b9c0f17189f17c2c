// What ops that count share: integers are added, so that no order matters.
#pragma once

#include <cstdint>

#include <detreduce/plan.hpp>

#include "for_each.cuh"
#include "multiset/launch.hpp"
#include "multiset/scopes.cuh"
#include "multiset/sources.cuh"

namespace detreduce::cuda::count {

using Count = unsigned long long; ///< what atomicAdd takes for a std::uint64_t
using multiset::max_threads;

/// Arrays in a workspace, each of `count` numbers.
template <class Number>
struct Arrays {
    char* first;
    std::uint64_t count;

    [[nodiscard]] static constexpr std::size_t bytes(std::uint64_t count) {
        return (count * sizeof(Number) + 255) / 256 * 256;
    }
    [[nodiscard]] Number* operator[](std::size_t which) const {
        return reinterpret_cast<Number*>(first + which * bytes(count));
    }
};

/// Adds what every thread of every block counted to *total, which was zero. All threads call this.
__device__ __forceinline__ void add_up(Count mine, Count* total) {
    const Count all = multiset::BlockScope::reduce(mine, multiset::Plus{});
    if (threadIdx.x != 0) return;
    if (gridDim.x == 1) {
        *total = all;
    } else if (all != 0) {
        atomicAdd(total, all);
    }
}

} // namespace detreduce::cuda::count
