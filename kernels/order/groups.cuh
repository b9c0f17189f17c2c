// Ops that compare, of groups: a warp each; large ones in slots, of which a block each takes one (groups/groups.hpp); columns and short rows by a thread
// each, or a thread a part (groups/parts.hpp).
#pragma once

#include "groups/parts.hpp"
#include "groups/slots.cuh"
#include "order/order.cuh"
#include "warp_reduce.cuh"

namespace detreduce::cuda::order {

/// The elements of a group of at most 2^32: what lies before the first 16-byte boundary and behind the last is odd; where they do not lie side by
/// side, all are.
template <class T>
struct GroupScan {
    using Keys = order::Keys<T, spec::View::greatest>; // of any view
    using Wide = typename Keys::Wide;
    static constexpr std::uint32_t per_vector = 16 / sizeof(T);
    const T* x;
    std::uint64_t step;
    Keys keys;

    struct Part {
        const T* x;
        std::uint32_t head, vectors, odd;
    };
    /// What a thread has seen of a part: the largest key of its vectors, with the first of them that has it, and of its odd elements.
    struct Seen {
        Wide best = spec::KeyMap<T>::lowest, odd_best = spec::KeyMap<T>::lowest;
        std::uint32_t vector, odd_at;
        [[nodiscard]] __device__ __forceinline__ Wide key() const { return best > odd_best ? best : odd_best; }
    };

    [[nodiscard]] __device__ __forceinline__ Part part(std::uint64_t begin, std::uint32_t n) const {
        const T* const from = x + begin;
        const auto before =
            static_cast<std::uint32_t>((16 - reinterpret_cast<std::uintptr_t>(from) % 16) % 16 / sizeof(T));
        const std::uint32_t head = step == 1 && before < n ? before : n, vectors = (n - head) / per_vector;
        return {from, head, vectors, n - vectors * per_vector};
    }
    [[nodiscard]] __device__ __forceinline__ uint4 load(const Part& p, std::uint32_t vector) const {
        return __ldg(reinterpret_cast<const uint4*>(p.x + p.head) +
                     vector); // through L1: short rows are read by a thread each
    }
    [[nodiscard]] __device__ __forceinline__ Seen look(const Part& p, std::uint32_t first,
                                                       std::uint32_t threads) const {
        Seen seen;
        seen.vector = first;
        seen.odd_at = UINT32_MAX;
#pragma unroll 4
        for (std::uint32_t v = first; v < p.vectors; v += threads) {
            auto running = Keys::nothing();
            keys.take(running, load(p, v));
            const Wide key = keys.settled(running);
            if (key > seen.best) {
                seen.best = key;
                seen.vector = v;
            }
        }
#pragma unroll 4
        for (std::uint32_t i = first; i < p.odd; i += threads) { // all loads of eight at a time, first, were slower
            const std::uint32_t at = i < p.head ? i : i + p.vectors * per_vector;
            const Wide key = keys.settled_key(load_number(p.x + at * step));
            if (seen.odd_at != UINT32_MAX && key <= seen.odd_best) continue;
            seen.odd_best = key;
            seen.odd_at = at;
        }
        return seen;
    }
    /// The lowest index with this key that the thread has seen; it has seen no larger one.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t find(const Part& p, const Seen& seen, Wide key) const {
        std::uint32_t found = seen.odd_best == key ? seen.odd_at : UINT32_MAX;
        if (seen.best != key || seen.vector >= p.vectors) return found;
        const uint4 v = load(p, seen.vector);
        T elements[per_vector];
        __builtin_memcpy(elements, &v, sizeof elements);
        const std::uint32_t begin = p.head + seen.vector * per_vector;
#pragma unroll
        for (int e = per_vector - 1; e >= 0; --e) {
            if (keys.settled_key(elements[e]) == key && begin + e < found) found = begin + e;
        }
        return found;
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

__device__ __forceinline__ std::int32_t largest_of_warp(std::int32_t key) {
    return warp_max(key);
}
__device__ __forceinline__ std::int64_t largest_of_warp(std::int64_t key) {
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2) {
        const std::int64_t other = shuffle_xor(key, distance);
        key = other > key ? other : key;
    }
    return key;
}

/// Small groups, a warp each; large ones go to `table`. A warp takes `batch` neighbours, at most 32, whose results its threads store all at once.
template <class T>
__global__ void __launch_bounds__(max_threads)
    groups_kernel(const GroupScan<T> scan, const Groups groups, std::uint32_t batch, const SlotTable table,
                  const GroupResults<T> results) {
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    const std::uint32_t lane = threadIdx.x % warp_size;
    for (std::uint64_t base = (std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size) * batch;
         base < groups.count; base += warps * batch) {
        OrderPartial mine{0, no_index};
        bool have = false, valid = true;
#pragma unroll 1
        for (std::uint32_t i = 0; i < batch && base + i < groups.count; ++i) {
            const Span span = span_of(groups, base + i);
            const bool large = span.n > table.length;
            if (large && put_on_slots(table, base + i, span)) continue;
            OrderPartial found{0, no_index};
            if (span.n > 0 && !large) {
                const auto part = scan.part(span.begin, static_cast<std::uint32_t>(span.n));
                const auto seen = scan.look(part, lane, warp_size);
                const auto key = largest_of_warp(seen.key());
                found = {key, 0};
                if (results.index) found.index = warp_min(scan.find(part, seen, key));
            }
            if (lane == i) {
                mine = found;
                have = true;
                valid = span.valid && !large;
            }
        }
        if (!have) continue;
        if (mine.index == no_index) {
            results.store_nothing(base + lane, valid);
        } else {
            results.store(base + lane, mine);
        }
    }
}

template <class T>
__global__ void __launch_bounds__(max_threads)
    slots_kernel(const GroupScan<T> scan, const SlotTable table, const GroupResults<T> results, OrderPartial* found) {
    const std::uint64_t used = slots_used(table);
    for (std::uint64_t i = blockIdx.x; i < used; i += gridDim.x) {
        const Slot slot = table.slots[i];
        if (slot.m == 0) continue; // the same for the block
        const auto part = scan.part(slot.begin, slot.m);
        const auto seen = scan.look(part, threadIdx.x, blockDim.x);
        OrderPartial best{best_of_block<Greater>(seen.key()), 0};
        if (results.index) {
            best.index = best_of_block<Less>(scan.find(part, seen, static_cast<typename GroupScan<T>::Wide>(best.key)));
        }
        if (threadIdx.x == 0) found[i] = best;
        __syncthreads(); // shared memory is used again
    }
}

/// Parts of groups by a thread each (groups/parts.hpp). What part p of group g has is at found[p·count + g], with its index in the group; or, where
/// there is one part of each, it is the result.
template <class T>
__global__ void __launch_bounds__(part_threads)
    parts_kernel(const GroupScan<T> scan, std::uint64_t stride, const Parts parts, OrderPartial* found,
                 const GroupResults<T> results) {
    const std::uint64_t all = parts.words() * parts.parts;
    for (std::uint64_t turn = (std::uint64_t{blockIdx.x} * part_threads + threadIdx.x) / warp_size; turn < all;
         turn += std::uint64_t{gridDim.x} * (part_threads / warp_size)) {
        const Parts::Place place = parts.place(turn, threadIdx.x % warp_size);
        if (!place.there) continue;
        const auto part = scan.part(place.group * stride + place.begin * scan.step,
                                    static_cast<std::uint32_t>(place.end - place.begin));
        const auto seen = scan.look(part, 0, 1);
        OrderPartial best{seen.key(), 0};
        if (results.index) best.index = place.begin + scan.find(part, seen, seen.key());
        if (parts.parts > 1) {
            found[place.part * parts.count + place.group] = best;
        } else {
            results.store(place.group, best);
        }
    }
}

template <class T>
__global__ void __launch_bounds__(part_threads)
    join_parts_kernel(const Parts parts, const OrderPartial* found, const GroupResults<T> results) {
    for (std::uint64_t group = std::uint64_t{blockIdx.x} * part_threads + threadIdx.x; group < parts.count;
         group += std::uint64_t{gridDim.x} * part_threads) {
        OrderPartial best = found[group];
#pragma unroll 4
        for (std::uint64_t part = 1; part < parts.parts; ++part) {
            const OrderPartial other = found[part * parts.count + group];
            if (other.beats(best)) best = other;
        }
        results.store(group, best);
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
