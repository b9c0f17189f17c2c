// From keys to results.
#pragma once

#include <cstdint>

#include <detreduce/acc/finish.hpp>

#include "sequence/tile.cuh"
#include "multiset/join.hpp"

namespace detreduce::cuda::multiset {

/// Not inlined: it is much code for one thread.
static __device__ __noinline__ void store_rounded(void* out, DType output, double x) {
    acc::store_as(out, output, [&](auto t) { return fp::round_to<decltype(t)>(x); });
}
/// Its NaN are canonical.
template <class T>
__device__ __forceinline__ void store_element(void* out, DType output, T x) {
    if (output == dtype_of<T>) {
        *static_cast<T*>(out) = x;
    } else {
        store_rounded(out, output, static_cast<double>(widen(x)));
    }
}

/// The result of a group. `store_value(to, which)` stores the values that there are, if it is no
/// integer.
template <class Merges, class StoreValue>
__device__ __forceinline__ void store(const Results& results, std::uint64_t group, const Found& found,
                                      const StoreValue& store_value) {
    if (Merges::values == 0 || results.integer) {
        static_cast<std::uint64_t*>(results.out)[group] = found.second;
        return;
    }
    char* const to = static_cast<char*>(results.out) + Merges::values * group * results.bytes;
#pragma unroll
    for (int which = 0; which < Merges::values; ++which)
        store_value(to + which * results.bytes, which);
}
/// From the keys of an accumulator.
template <class A>
__device__ __forceinline__ void store(const Results& results, const A& accumulator, std::uint64_t group,
                                      const Found& found) {
    store<A>(results, group, found, [&](void* to, int which) {
        if constexpr (A::values > 0) {
            store_element(to, results.output, accumulator.keys[which].element(found.key_of(which)));
        }
    });
}

} // namespace detreduce::cuda::multiset
