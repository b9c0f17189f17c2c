// Ops that compare, of groups: a warp each; large ones in slots, of which a block each takes one (groups/groups.hpp).
#pragma once

#include "groups/slots.cuh"
#include "order/order.cuh"

namespace detreduce::cuda::order {

template <class T>
struct GroupScan {
    using Map = spec::KeyMap<T>;
    const T* x;
    std::uint64_t step;
    Map map;

    /// The best of the elements first, first + threads, … of the n from `begin` on, with its index among them.
    __device__ __forceinline__ OrderPartial scan(std::uint64_t begin, std::uint64_t n, std::uint32_t first,
                                                 std::uint32_t threads) const {
        OrderPartial best{INT64_MIN, no_index};
        const T* const from = x + begin;
#pragma unroll 4
        for (std::uint64_t i = first; i < n; i += threads) {
            const std::int64_t key = map.settled(map.key(load_number(from + i * step)));
            if (key > best.key || i == first) best = {key, i};
        }
        return best;
    }
};

/// Where the results of groups go.
template <class T>
struct GroupResults {
    void* out;
    DType output;
    std::uint32_t bytes;
    bool index, zero_of_nothing;
    spec::KeyMap<T> map;

    __device__ __forceinline__ void store(std::uint64_t group, const OrderPartial& found) const {
        const Result result{static_cast<char*>(out) + group * bytes, output};
        if (index) {
            *static_cast<std::uint64_t*>(result.out) = found.index;
        } else {
            store_element<T>(result, map.element(static_cast<typename spec::KeyMap<T>::Key>(found.key)));
        }
    }
    __device__ __forceinline__ void store_nothing(std::uint64_t group, bool valid) const {
        const Result result{static_cast<char*>(out) + group * bytes, output};
        if (index) {
            *static_cast<std::uint64_t*>(result.out) = no_index;
        } else {
            store_element<T>(result, valid && zero_of_nothing ? T{} : fp::from_bits<T>(fp::Format<T>::canonical_nan));
        }
    }
};

__device__ __forceinline__ OrderPartial best_of_warp(OrderPartial mine) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        const OrderPartial other = shuffle_down(mine, distance);
        if (other.beats(mine)) mine = other;
    }
    return mine;
}

template <class T>
__global__ void __launch_bounds__(max_threads)
    groups_kernel(const GroupScan<T> scan, const Groups groups, const SlotTable table, const GroupResults<T> results) {
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    const std::uint32_t lane = threadIdx.x % warp_size;
    for (std::uint64_t group = std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size;
         group < groups.count; group += warps) {
        const Span span = span_of(groups, group);
        const bool large = span.n > table.length;
        if (large && put_on_slots(table, group, span)) continue;
        if (span.n == 0 || large) {
            if (lane == 0) results.store_nothing(group, span.valid && !large);
            continue;
        }
        const OrderPartial best = best_of_warp(scan.scan(span.begin, span.n, lane, warp_size));
        if (lane == 0) results.store(group, best);
    }
}

template <class T>
__global__ void __launch_bounds__(max_threads)
    slots_kernel(const GroupScan<T> scan, const SlotTable table, OrderPartial* found) {
    const std::uint64_t used = slots_used(table);
    for (std::uint64_t i = blockIdx.x; i < used; i += gridDim.x) {
        const Slot slot = table.slots[i];
        if (slot.m == 0) continue; // the same for the block
        const OrderPartial best = best_of_block<Beats>(scan.scan(slot.begin, slot.m, threadIdx.x, blockDim.x));
        if (threadIdx.x == 0) found[i] = best;
        __syncthreads(); // shared memory is used again
    }
}

/// What the slots of a large group found, with indices among its elements.
template <class T>
__global__ void __launch_bounds__(max_threads)
    large_groups_kernel(const SlotTable table, const OrderPartial* found, const GroupResults<T> results) {
    for (std::uint64_t i = blockIdx.x; i < table.used[1]; i += gridDim.x) {
        const LargeGroup group = table.large[i];
        const std::uint64_t slots = spec::tiles(group.n, table.length);
        OrderPartial best{INT64_MIN, no_index};
        for (std::uint64_t s = threadIdx.x; s < slots; s += blockDim.x) {
            OrderPartial other = found[group.first + s];
            other.index += s * table.length;
            if (other.beats(best)) best = other;
        }
        best = best_of_block<Beats>(best);
        if (threadIdx.x == 0) results.store(group.group, best);
        __syncthreads(); // shared memory is used again
    }
}

} // namespace detreduce::cuda::order
