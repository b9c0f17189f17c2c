// From keys to results.
#pragma once

#include <cstdint>

#include <detreduce/acc/finish.hpp>

#include "multiset/join.hpp"
#include "rounded.cuh"
#include "sequence/tile.cuh"

namespace detreduce::cuda::multiset {

/// Not inlined: it is much code for one thread.
static __device__ __noinline__ void store_rounded(void* out, DType output, double x) {
    acc::store_as(out, output, [&](auto t) { return rounded_to<decltype(t)>(x); });
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

/// The words of a group's state (lib/SPEC.md, section 18.2). `values`: of keys, as doubles.
template <class Merges>
__device__ __noinline__ void store_state(Results results, std::uint64_t group, Found found, double first,
                                         double second) {
    auto* const to = static_cast<std::int64_t*>(results.out) + group * results.state_words;
    const bool nothing = Merges::values > 0 && found == Merges::identity();
    const auto word = [&](int which) {
        return nothing ? spec::StateKey::nothing : results.keys[which].of(which == 0 ? first : second);
    };
    if constexpr (Merges::values == 0) {
        to[0] = static_cast<std::int64_t>(found.second);
    } else {
        to[0] = word(0);
        if (Merges::values > 1) {
            to[1] = word(1);
        } else if (results.integer) { // of a segment that is none, no place
            to[1] = nothing ? spec::StateKey::nothing
                            : static_cast<std::int64_t>(
                                  ~(found.second == no_index ? no_index : found.second + results.first_index));
        }
    }
}

/// The result of a group. `store_value(to, which)` stores the values that there are, if it is no
/// integer, and `number(which)` is such a value.
template <class Merges, class StoreValue, class Number>
__device__ __forceinline__ void store(const Results& results, std::uint64_t group, const Found& found,
                                      const StoreValue& store_value, const Number& number) {
    if (results.state_words != 0) {
        store_state<Merges>(results, group, found, Merges::values > 0 ? number(0) : 0,
                            Merges::values > 1 ? number(1) : 0);
        return;
    }
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
    const auto element = [&](int which) {
        if constexpr (A::values > 0) {
            return accumulator.keys[which].element(found.key_of(which));
        } else {
            return 0.0;
        }
    };
    store<A>(
        results, group, found, [&](void* to, int which) { store_element(to, results.output, element(which)); },
        [&](int which) { return static_cast<double>(widen(element(which))); });
}

} // namespace detreduce::cuda::multiset
