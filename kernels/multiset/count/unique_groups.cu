// count_unique of groups: every element becomes a key and the number of its group. Sorted by key,
// and then, as CUB's radix sort keeps the order of equals, by group, the elements of a group that
// count as one lie side by side: one is counted for each pair that differs from the one before.
// cub::DeviceSegmentedSort would wait for the stream in the middle, to read back how many segments
// are large.
#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>

#include <detreduce/spec/unique_key.hpp>

#include "for_each.cuh"
#include "multiset/count/count.cuh"
#include "multiset/count/launch.hpp"
#include "groups/groups.hpp"

namespace detreduce::cuda {
namespace count {

using Word = std::uint64_t;

/// Elements of all groups, or of the array that is cut into segments.
static std::uint64_t items_of(const Request& r) {
    return r.shape == Shape::segments ? r.n : r.n * r.groups;
}

/// The group of the i-th element of an array that is cut at offsets; groups.count if it is in none,
/// or in one whose end is past the array's. Nothing is read beyond the offsets, whatever they are.
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

/// Neighbouring threads read neighbouring elements.
template <class T>
struct MakePair {
    const T* x;
    Groups groups;
    Word *keys, *group_of_key;
    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        std::uint64_t group = 0, at = i;
        if (groups.offsets != nullptr) {
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
        group_of_key[i] = group;
    }
};

/// Adds to counts[g] how many different keys group g has, by whole warps. What is in no group is
/// not counted.
struct CountPairs {
    const Word *keys, *groups;
    std::uint64_t items, count;
    Count* counts;
    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        const std::uint32_t lane = threadIdx.x % warp_size;
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
};

/// First by key, then by group: CUB's own convention, as sort_keys(). `keys` and `groups` are ping
/// and pong of both sorts.
[[nodiscard]] static Status sort_pairs(void* temporary, std::size_t& bytes, cub::DoubleBuffer<Word>& keys,
                                       cub::DoubleBuffer<Word>& groups, const Request& r, Stream stream) {
    const std::uint64_t items = items_of(r);
    const auto sort = [&](std::size_t& room, cub::DoubleBuffer<Word>& by, cub::DoubleBuffer<Word>& with, int bits) {
        return from_cuda("cub::DeviceRadixSort::SortPairs",
                         cub::DeviceRadixSort::SortPairs(temporary, room, by, with, items, 0, bits, stream));
    };
    std::size_t by_key = bytes, by_group = bytes;
    const Status sorted = sort(by_key, keys, groups, static_cast<int>(8 * size_of(r.dtype)));
    if (!sorted.ok()) return sorted;
    const Status grouped = sort(by_group, groups, keys, static_cast<int>(std::bit_width(r.groups)));
    if (temporary == nullptr) bytes = std::max(by_key, by_group);
    return grouped;
}

} // namespace count

Status unique_groups_workspace_bytes(const Request& r, std::size_t& bytes) {
    cub::DoubleBuffer<count::Word> keys, groups;
    std::size_t temporary = 0;
    const Status asked = count::sort_pairs(nullptr, temporary, keys, groups, r, nullptr);
    bytes = 4 * count::Arrays<count::Word>::bytes(count::items_of(r)) + temporary;
    return asked;
}

Status launch_count_unique_groups(const Run& run) {
    const Request& r = run.request();
    const std::uint64_t items = count::items_of(r);
    // Two of keys, two of groups, and what the sorts need.
    const count::Arrays<count::Word> arrays{static_cast<char*>(run.workspace), items};
    auto* const counts = static_cast<count::Count*>(run.out);
    const Status zeroed = clear(counts, r.groups * sizeof *counts, run.stream);
    if (!zeroed.ok() || items == 0) return zeroed;
    const std::uint32_t threads = run.plan.launch().block,
                        blocks = run.blocks(items / (4 * threads), policy::compare_group_blocks * run.device().sms);
    const Status made = with_dtype_from_16_bits(r.dtype, [&]<class T>(T) {
        const count::MakePair<T> make{static_cast<const T*>(run.in.x), Groups::of(run.plan, run.in.offsets), arrays[0],
                                      arrays[2]};
        return for_each(items, make, run.stream, blocks, threads);
    });
    if (!made.ok()) return made;
    cub::DoubleBuffer<count::Word> keys(arrays[0], arrays[1]), groups(arrays[2], arrays[3]);
    std::size_t bytes = run.plan.workspace_bytes() - 4 * arrays.bytes(items);
    const Status sorted = count::sort_pairs(arrays[4], bytes, keys, groups, r, run.stream);
    if (!sorted.ok()) return sorted;
    const count::CountPairs add{keys.Current(), groups.Current(), items, r.groups, counts};
    return for_each(spec::tiles(items, warp_size) * warp_size, add, run.stream, blocks, threads);
}

} // namespace detreduce::cuda
