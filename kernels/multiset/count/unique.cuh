// count_unique of f32 and f64: keys that are equal where elements count as one, sorted by CUB's
// radix sort, and then one for each key that differs from the one before.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <detreduce/spec/unique_key.hpp>

#include "for_each.cuh"
#include "multiset/count/count.cuh"
#include "multiset/count/launch.hpp"

namespace detreduce::cuda {
namespace count {

template <class T>
struct MakeKey {
    const T* x;
    fp::Bits<T>* keys;
    __device__ __forceinline__ void operator()(std::uint64_t i) const {
        keys[i] = spec::unique_key(load_number(x + i));
    }
};

template <class Key>
__global__ void __launch_bounds__(max_threads) boundary_kernel(const Key* sorted, std::uint64_t n, Count* total) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    Count mine = 0;
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += threads)
        mine += i == 0 || sorted[i] != sorted[i - 1];
    add_up(mine, total);
}

/// CUB's own convention: without `temporary` it says how many bytes that is. It allocates nothing
/// and does not synchronise.
template <class Key>
[[nodiscard]] Status sort_keys(void* temporary, std::size_t& bytes, cub::DoubleBuffer<Key>& keys, std::uint64_t n,
                               Stream stream) {
    return from_cuda(
        "cub::DeviceRadixSort::SortKeys",
        cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, n, 0, static_cast<int>(8 * sizeof(Key)), stream));
}

} // namespace count

template <class T>
Status sort_bytes(std::uint64_t n, std::size_t& bytes) {
    using Key = fp::Bits<T>;
    cub::DoubleBuffer<Key> keys;
    std::size_t temporary = 0;
    const Status asked = count::sort_keys<Key>(nullptr, temporary, keys, n, nullptr);
    bytes = 2 * count::Arrays<Key>::bytes(n) + temporary;
    return asked;
}

template <class T>
Status launch_count_unique(const Run& run) {
    using Key = fp::Bits<T>;
    const Plan& plan = run.plan;
    const std::uint64_t n = plan.request().n;
    auto* const total = static_cast<count::Count*>(run.out);
    const std::uint32_t useful = multiset::useful_blocks(plan.request(), plan.launch());
    const count::Arrays<Key> arrays{static_cast<char*>(run.workspace), n}; // two, and what the sort needs
    std::uint32_t blocks = 0;
    const count::MakeKey<T> make{static_cast<const T*>(run.in.x), arrays[0]};
    if (const Status bad = multiset::choose_blocks(run, for_each_kernel<count::MakeKey<T>>, useful, blocks); !bad.ok())
        return bad;
    const Status made = for_each(n, make, run.stream, blocks, plan.launch().block);
    if (!made.ok()) return made;
    cub::DoubleBuffer<Key> keys(arrays[0], arrays[1]);
    std::size_t bytes = plan.workspace_bytes() - 2 * arrays.bytes(n);
    if (const Status bad = count::sort_keys(arrays[2], bytes, keys, n, run.stream); !bad.ok()) return bad;
    if (const Status bad = multiset::choose_blocks(run, count::boundary_kernel<Key>, useful, blocks); !bad.ok())
        return bad;
    const Status zeroed = blocks == 1 ? Status{} : clear(total, sizeof *total, run.stream); // one block alone stores
    if (!zeroed.ok()) return zeroed;
    return launch_kernel(LaunchKind::plain, count::boundary_kernel<Key>, blocks, plan.launch().block, 0, run.stream,
                         static_cast<const Key*>(keys.Current()), n, total);
}

} // namespace detreduce::cuda
