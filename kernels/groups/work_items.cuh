// Device side of groups.hpp.
#pragma once

#include "sequence/tile.cuh"
#include "groups/groups.hpp"

namespace detreduce::cuda {

/// The elements of a group. Offsets that descend or point past the end are no segment: nothing
/// there is read.
struct Span {
    std::uint64_t begin, n;
    bool valid;
};
__device__ __forceinline__ Span span_of(const Groups& groups, std::uint64_t group) {
    if (groups.offsets == nullptr) return {group * groups.stride, groups.n, true};
    const auto* const at = reinterpret_cast<const unsigned long long*>(groups.offsets) + group;
    const std::uint64_t begin = load_read_only(at), end = load_read_only(at + 1);
    const bool valid = begin <= end && end <= groups.n;
    return {valid ? begin : 0, valid ? end - begin : 0, valid};
}

/// Leaves a group to the kernels for large ones; false if there is no room, which offsets in order
/// always find. The whole warp calls this.
/// Everything by value: what a call has the address of is kept in memory, also where there is no
/// call.
static __device__ __noinline__ bool list_work_items(WorkTable table, std::uint64_t group, Span span) {
    using Counter = unsigned long long;
    const int lane = threadIdx.x % warp_size;
    const std::uint64_t parts = spec::tiles(span.n, table.length), all = items_of(span.n, table.length, table.upper);
    std::uint64_t first = 0;
    if (lane == 0) first = atomicAdd(reinterpret_cast<Counter*>(table.used), static_cast<Counter>(all));
    first = shuffle_from(first, 0);
    if (first + all > table.room) {
        // What others wait for must still be something: work items of nothing, as far as there are
        // any.
#pragma unroll 1
        for (std::uint64_t i = first + lane; i < table.room; i += warp_size)
            table.items[i] = {0, 0, 0};
        return false;
    }
    if (lane == 0) {
        const std::uint64_t at = atomicAdd(reinterpret_cast<Counter*>(table.used + 1), Counter{1});
        table.large[at] = {group, span.n, first};
    }
#pragma unroll 1
    for (std::uint64_t i = lane; i < all; i += warp_size) {
        const std::uint64_t done = i < parts ? i * table.length : span.n, remaining = span.n - done;
        table.items[first + i] = {span.begin + done * table.step,
                                  static_cast<std::uint32_t>(remaining < table.length ? remaining : table.length), 0};
    }
    return true;
}

} // namespace detreduce::cuda
