// minmax and count_nonzero of groups: the ways of groups.cuh, with two keys, or a count, in the place of a key and an index.
#pragma once

#include "count/nonzeros.cuh"
#include "order/groups.cuh"

namespace detreduce::cuda::order {

/// What is known of elements. minmax: their largest keys, of the least and of the greatest. count_nonzero: how many they are, and nothing else.
struct Tally {
    std::int64_t first, second;
};
static_assert(sizeof(Tally) == sizeof(OrderPartial)); // so that workspaces are laid out alike

__device__ __forceinline__ void merge(Tally& tally, const Tally& other, bool counts) {
    if (counts) {
        tally.first += other.first;
    } else {
        tally.first = max(tally.first, other.first);
        tally.second = max(tally.second, other.second);
    }
}

/// The tallies of the block's threads in one, for all of them, all of which call this. The shared memory is used again by the next call: threads
/// must meet before it.
static __device__ __noinline__ Tally tally_of_block(Tally mine, bool counts) {
    __shared__ Tally of_warp[max_warps];
#pragma unroll
    for (int distance = warp_size / 2; distance >= 1; distance /= 2)
        merge(mine, shuffle_down(mine, distance), counts);
    if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = mine;
    __syncthreads();
    Tally all = of_warp[0];
    for (int w = 1; w < static_cast<int>(blockDim.x) / warp_size; ++w)
        merge(all, of_warp[w], counts);
    return all;
}

/// The elements of a group.
template <class T>
struct TallyScan {
    using Keys = typename GroupScan<T>::Keys;
    using Wide = typename Keys::Wide;
    using Part = typename GroupScan<T>::Part;
    GroupScan<T> elements; ///< with the keys of the greatest
    Keys of_least;
    bool counts;

    [[nodiscard]] __device__ __forceinline__ Part part(std::uint64_t begin, std::uint32_t n) const {
        return elements.part(begin, n);
    }
    /// What this thread, one of `threads`, sees.
    [[nodiscard]] __device__ __forceinline__ Tally look(const Part& p, std::uint32_t first,
                                                        std::uint32_t threads) const {
        return counts ? count(p, first, threads) : both_ends(p, first, threads);
    }
    /// The tallies of a warp in one, for all of its threads; no more than 2^31 elements.
    [[nodiscard]] __device__ __forceinline__ Tally of_warp(const Tally& mine) const {
        if (counts) return {warp_add(static_cast<std::uint32_t>(mine.first)), 0};
        return {largest_of_warp(static_cast<Wide>(mine.first)), largest_of_warp(static_cast<Wide>(mine.second))};
    }

  private:
    [[nodiscard]] __device__ __forceinline__ T odd(const Part& p, std::uint32_t i) const {
        const std::uint32_t at = i < p.head ? i : i + p.vectors * GroupScan<T>::per_vector;
        return load_number(p.x + at * elements.step);
    }
    [[nodiscard]] __device__ __forceinline__ Tally count(const Part& p, std::uint32_t first,
                                                         std::uint32_t threads) const {
        std::uint32_t found = 0;
#pragma unroll 4
        for (std::uint32_t v = first; v < p.vectors; v += threads)
            found += count::nonzeros<T>(elements.load(p, v));
#pragma unroll 4
        for (std::uint32_t i = first; i < p.odd; i += threads)
            found += fp::magnitude_bits(odd(p, i)) != 0;
        return {found, 0};
    }
    [[nodiscard]] __device__ __forceinline__ Tally both_ends(const Part& p, std::uint32_t first,
                                                             std::uint32_t threads) const {
        auto least = Keys::nothing(), greatest = Keys::nothing();
#pragma unroll 4
        for (std::uint32_t v = first; v < p.vectors; v += threads) {
            const uint4 here = elements.load(p, v);
            of_least.take(least, here);
            elements.keys.take(greatest, here);
        }
        Wide low = of_least.settled(least), high = elements.keys.settled(greatest);
#pragma unroll 4
        for (std::uint32_t i = first; i < p.odd; i += threads) {
            const T x = odd(p, i);
            low = max(low, of_least.settled_key(x));
            high = max(high, elements.keys.settled_key(x));
        }
        return {low, high};
    }
};

/// Where the results of groups go.
template <class T>
struct TallyResults {
    using Map = spec::KeyMap<T>;
    void* out;
    DType output;
    std::uint32_t bytes; ///< of one of the two of minmax
    bool counts;
    Map least, greatest;

    /// Of a group without elements: none, or no number.
    [[nodiscard]] __device__ __forceinline__ Tally nothing() const {
        return counts ? Tally{0, 0} : Tally{least.nan, greatest.nan};
    }
    __device__ __forceinline__ void store(std::uint64_t group, const Tally& found) const {
        if (counts) {
            static_cast<std::int64_t*>(out)[group] = found.first;
            return;
        }
        char* const to = static_cast<char*>(out) + 2 * group * bytes;
        store_element<T>({to, output}, least.element(static_cast<typename Map::Key>(found.first)));
        store_element<T>({to + bytes, output}, greatest.element(static_cast<typename Map::Key>(found.second)));
    }
};

/// As groups_kernel.
template <class T>
__global__ void __launch_bounds__(max_threads)
    tally_groups_kernel(const TallyScan<T> scan, const Groups groups, std::uint32_t batch, const SlotTable table,
                        const TallyResults<T> results) {
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp_size);
    const std::uint32_t lane = threadIdx.x % warp_size;
    for (std::uint64_t base = (std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size) * batch;
         base < groups.count; base += warps * batch) {
        Tally mine = results.nothing();
        bool have = false;
#pragma unroll 1
        for (std::uint32_t i = 0; i < batch && base + i < groups.count; ++i) {
            const Span span = span_of(groups, base + i);
            const bool large = span.n > table.length;
            if (large && put_on_slots(table, base + i, span)) continue;
            Tally found = results.nothing();
            if (span.n > 0 && !large) {
                const auto part = scan.part(span.begin, static_cast<std::uint32_t>(span.n));
                found = scan.of_warp(scan.look(part, lane, warp_size));
            }
            if (lane == i) {
                mine = found;
                have = true;
            }
        }
        if (have) results.store(base + lane, mine);
    }
}

/// As slots_kernel.
template <class T>
__global__ void __launch_bounds__(max_threads)
    tally_slots_kernel(const TallyScan<T> scan, const SlotTable table, const TallyResults<T> results, Tally* found) {
    const std::uint64_t used = slots_used(table);
    for (std::uint64_t i = blockIdx.x; i < used; i += gridDim.x) {
        const Slot slot = table.slots[i];
        if (slot.m == 0) continue; // the same for the block
        const Tally mine = scan.look(scan.part(slot.begin, slot.m), threadIdx.x, blockDim.x);
        const Tally all = tally_of_block(mine, results.counts);
        if (threadIdx.x == 0) found[i] = all;
        __syncthreads(); // shared memory is used again
    }
}

/// As parts_kernel.
template <class T>
__global__ void __launch_bounds__(part_threads)
    tally_parts_kernel(const TallyScan<T> scan, std::uint64_t stride, const Parts parts, Tally* found,
                       const TallyResults<T> results) {
    const std::uint64_t all = parts.words() * parts.parts;
    for (std::uint64_t turn = (std::uint64_t{blockIdx.x} * part_threads + threadIdx.x) / warp_size; turn < all;
         turn += std::uint64_t{gridDim.x} * (part_threads / warp_size)) {
        const Parts::Place place = parts.place(turn, threadIdx.x % warp_size);
        if (!place.there) continue;
        const auto part = scan.part(place.group * stride + place.begin * scan.elements.step,
                                    static_cast<std::uint32_t>(place.end - place.begin));
        const Tally mine = scan.look(part, 0, 1);
        if (parts.parts > 1) {
            found[place.part * parts.count + place.group] = mine;
        } else {
            results.store(place.group, mine);
        }
    }
}

/// As join_parts_kernel.
template <class T>
__global__ void __launch_bounds__(part_threads)
    tally_join_parts_kernel(const Parts parts, const Tally* found, const TallyResults<T> results) {
    for (std::uint64_t group = std::uint64_t{blockIdx.x} * part_threads + threadIdx.x; group < parts.count;
         group += std::uint64_t{gridDim.x} * part_threads) {
        Tally all = found[group];
#pragma unroll 4
        for (std::uint64_t part = 1; part < parts.parts; ++part)
            merge(all, found[part * parts.count + group], results.counts);
        results.store(group, all);
    }
}

/// As large_groups_kernel.
template <class T>
__global__ void __launch_bounds__(max_threads)
    tally_large_groups_kernel(const SlotTable table, const Tally* found, const TallyResults<T> results) {
    for (std::uint64_t i = blockIdx.x; i < table.used[1]; i += gridDim.x) {
        const LargeGroup group = table.large[i];
        const std::uint64_t slots = spec::tiles(group.n, table.length);
        Tally all = results.counts ? Tally{0, 0} : Tally{INT64_MIN, INT64_MIN};
        for (std::uint64_t s = threadIdx.x; s < slots; s += blockDim.x)
            merge(all, found[group.first + s], results.counts);
        all = tally_of_block(all, results.counts);
        if (threadIdx.x == 0) results.store(group.group, all);
        __syncthreads(); // shared memory is used again
    }
}

} // namespace detreduce::cuda::order
