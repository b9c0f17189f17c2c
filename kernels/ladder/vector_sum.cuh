// Loads of 128 bits: what K7 is about, and what the three-level rungs load with.
#pragma once

#include <cstdint>

namespace detreduce::ladder {

__device__ __forceinline__ float four_sum(const float4& v) {
    return (v.x + v.y) + (v.z + v.w);
}

/// The elements of x[0 … n) that belong to thread `thread` of `threads`, at least 64. A float4 must
/// lie at a multiple of 16 bytes: up to three elements before the first such address, and up to
/// three behind the last, are added one by one, by a thread each. Each goes through as many
/// additions as the thread has vectors, and four more.
__device__ __forceinline__ float vector_sum(const float* x, std::uint64_t n, std::uint64_t thread,
                                            std::uint64_t threads) {
    constexpr int batch = 4; // loads in flight; a plain loop with its test before each load had one
    const std::uint64_t before = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / sizeof(float);
    const std::uint64_t head = before < n ? before : n;
    const std::uint64_t vectors = (n - head) / 4, tail = head + 4 * vectors;
    const auto* const v = reinterpret_cast<const float4*>(x + head);
    float sum = 0;
    std::uint64_t i = thread;
    for (; i + (batch - 1) * threads < vectors; i += batch * threads) {
        float4 loaded[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k)
            loaded[k] = v[i + k * threads];
#pragma unroll
        for (int k = 0; k < batch; ++k)
            sum += four_sum(loaded[k]);
    }
    for (; i < vectors; i += threads)
        sum += four_sum(v[i]);
    if (thread < head) sum += x[thread];
    if (thread < n - tail) sum += x[tail + thread];
    return sum;
}

} // namespace detreduce::ladder
