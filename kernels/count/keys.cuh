// Elements as keys, with the numbers of their groups, and how many different ones there are once they
// are sorted.
#pragma once

#include <detreduce/spec/unique_key.hpp>

#include "count/count.cuh"
#include "groups/groups.hpp"

namespace detreduce::cuda::count {

using Word = std::uint64_t;

/// The group of the i-th element of an array that is cut at offsets; groups.count if it is in none, or in one whose end is past the array's. Nothing
/// is read beyond the offsets, whatever they are.
__device__ __forceinline__ Word segment_of(const Groups& groups, std::uint64_t i) {
    std::uint64_t low = 0, high = groups.count + 1; // the offsets from `high` on are larger, those before `low` are not
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (groups.offsets[middle] <= i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool there = low > 0 && low <= groups.count && groups.offsets[low] <= groups.n;
    return there ? low - 1 : groups.count;
}

/// Neighbouring threads read neighbouring elements. Of a flat array `group_of_key` is null.
template <class T, class Key>
__global__ void __launch_bounds__(max_threads)
    key_kernel(const T* x, const Groups groups, std::uint64_t items, Key* keys, Word* group_of_key) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < items; i += threads) {
        std::uint64_t group = 0, at = i;
        if (group_of_key == nullptr) {
        } else if (groups.offsets != nullptr) {
            group = segment_of(groups, i);
        } else if (groups.step == 1) {
            group = i / groups.n;
            at = group * groups.stride + (i - group * groups.n);
        } else {
            const std::uint64_t row = i / groups.count;
            group = i - row * groups.count;
            at = row * groups.step + group;
        }
        keys[i] = spec::unique_key(load_number(x + at));
        if (group_of_key != nullptr) group_of_key[i] = group;
    }
}

/// Adds to counts[g] how many different keys group g has. What is in no group is not counted. Of a flat
/// array `groups` is null.
template <class Key>
__global__ void __launch_bounds__(max_threads)
    boundary_kernel(const Key* keys, const Word* groups, std::uint64_t items, std::uint64_t count, Count* counts) {
    const std::uint32_t lane = threadIdx.x % warp_size;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    Count mine = 0;
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i - lane < items; i += threads) {
        if (groups == nullptr) {
            mine += i < items && (i == 0 || keys[i - 1] != keys[i]);
            continue;
        }
        const Word group = i < items ? groups[i] : count;
        const bool first =
            group < count && (i == 0 || groups[i - 1] != group || keys[i - 1] != keys[i]); // the first of its kind
        const std::uint32_t firsts = votes_of_warp(first);
        const Word of_first_thread = shuffle_from(group, 0);
        if (all_of_warp(group == of_first_thread)) {
            if (lane == 0 && firsts != 0) atomicAdd(counts + group, static_cast<Count>(__popc(firsts)));
        } else if (first) {
            atomicAdd(counts + group, Count{1});
        }
    }
    if (groups == nullptr) add_up(mine, counts);
}

} // namespace detreduce::cuda::count
