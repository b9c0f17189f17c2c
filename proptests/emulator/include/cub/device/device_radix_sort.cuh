// Stands in for cub::DeviceRadixSort.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace cub {

template <class T>
struct DoubleBuffer {
    T* buffers[2];
    int selector = 0;
    DoubleBuffer() = default;
    DoubleBuffer(T* current, T* alternate) : buffers{current, alternate} {}
    T* Current() { return buffers[selector]; }
    T* Alternate() { return buffers[selector ^ 1]; }
};

struct DeviceRadixSort {
    template <class K, class V, class N>
    static cudaError_t SortPairs(void* temporary, std::size_t& bytes, DoubleBuffer<K>& keys, DoubleBuffer<V>& values,
                                 N n, int first_bit = 0, int end_bit = sizeof(K) * 8, cudaStream_t = nullptr) {
        if (temporary == nullptr) {
            bytes = 256;
            return cudaSuccess;
        }
        const auto part = [=](K key) {
            const std::uint64_t from_first = std::uint64_t{key} >> first_bit;
            return end_bit - first_bit >= 64 ? from_first
                                             : from_first & ((std::uint64_t{1} << (end_bit - first_bit)) - 1);
        };
        std::vector<std::size_t> order(static_cast<std::size_t>(n));
        std::iota(order.begin(), order.end(), std::size_t{0});
        const K* const from = keys.Current();
        const V* const with = values.Current();
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return part(from[a]) < part(from[b]); });
        for (std::size_t i = 0; i < order.size(); ++i) {
            keys.Alternate()[i] = from[order[i]];
            values.Alternate()[i] = with[order[i]];
        }
        keys.selector ^= 1;
        values.selector ^= 1;
        return cudaSuccess;
    }
    template <class K, class N>
    static cudaError_t SortKeys(void* temporary, std::size_t& bytes, DoubleBuffer<K>& keys, N n, int first_bit = 0,
                                int end_bit = sizeof(K) * 8, cudaStream_t stream = nullptr) {
        std::vector<unsigned char> nothing(static_cast<std::size_t>(temporary == nullptr ? 0 : 2 * n));
        DoubleBuffer<unsigned char> values(nothing.data(), nothing.data() + nothing.size() / 2);
        return SortPairs(temporary, bytes, keys, values, n, first_bit, end_bit, stream);
    }
};

} // namespace cub
