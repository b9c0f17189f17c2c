// What parts of a group found, joined to its result: by a block each, or by a thread each where
// threads looked at the parts.
#pragma once

#include "platform/grid.cuh"
#include "sources/load.cuh"
#include "groups/parts.hpp"
#include "multiset/accumulators.cuh"
#include "multiset/join.hpp"
#include "multiset/results.cuh"
#include "multiset/scopes.cuh"

namespace detreduce::cuda::multiset {

/// f(the element whose key this is).
template <class F>
__device__ __forceinline__ void with_element(DType dtype, spec::View view, NanPolicy nan, std::int64_t key,
                                             const F& f) {
    with_array(nullptr, dtype, [&]<class T>(T*) { f(Keys<T>::of(view, nan).element(key)); });
}
/// Not inlined, as store_rounded().
static __device__ __noinline__ void store_key(void* out, DType output, DType dtype, spec::View view, NanPolicy nan,
                                              std::int64_t key) {
    with_element(dtype, view, nan, key, [&](auto x) { store_element(out, output, x); });
}
/// The key of the same element as a double.
static __device__ __noinline__ std::int64_t key_of_double(DType dtype, spec::View view, NanPolicy nan,
                                                          std::int64_t key) {
    with_element(dtype, view, nan, key,
                 [&](auto x) { key = Keys<double>::of(view, nan).key(static_cast<double>(widen(x))); });
    return key;
}
template <class Merges>
__device__ __forceinline__ void store_joined(const Results& results, const Views& views, DType dtype,
                                             std::uint64_t group, const Found& found) {
    store<Merges>(
        results, group, found,
        [&](void* to, int which) {
            store_key(to, results.output, dtype, views.view[which], views.nan, found.key_of(which));
        },
        [&](int which) {
            double x = 0;
            store_key(&x, DType::f64, dtype, views.view[which], views.nan, found.key_of(which));
            return x;
        });
}

/// A group each. Of `Merges`, an accumulator, only how what was found merges.
template <class Merges>
__global__ void __launch_bounds__(max_threads)
    join_kernel(const Found* found, const JoinWork work, const Views views, const Results results) {
    wait_for_previous_kernel();
    const std::uint64_t groups = work.groups();
    for (std::uint64_t i = blockIdx.x; i < groups; i += gridDim.x) {
        const JoinWork::Group group = work.group(i);
        Found mine = Merges::identity();
        for (std::uint64_t p = threadIdx.x; p < group.parts; p += blockDim.x) {
            Found other = load_item<Source::partials>(found + group.first + p);
            Merges::shift(other, group.begin + p * group.length);
            Merges::merge(mine, other);
        }
        Found all = BlockScope::reduce(mine, [](Found& a, const Found& b) { Merges::merge(a, b); });
        if (threadIdx.x == 0) {
            if (group.parts == 0) {
                all = work.empty;
            } else if (work.known != nullptr) {
#pragma unroll
                for (int which = 0; which < Merges::values; ++which)
                    all.set_key(which, key_of_double(views.dtype, views.view[which], views.nan, all.key_of(which)));
                if (!work.first) Merges::merge(all, *work.known);
                *work.known = all;
            }
            const DType dtype = work.known != nullptr ? DType::f64 : views.dtype;
            store_joined<Merges>(results, views, dtype, group.result, all);
        }
        __syncthreads(); // shared memory is used again
    }
}

/// The parts that threads left.
template <class Merges>
struct JoinParts {
    Parts parts;
    const Found* found;
    Views views;
    Results results;

    __device__ __forceinline__ void operator()(std::uint64_t group) const {
        Found all = found[group];
#pragma unroll 4
        for (std::uint64_t part = 1; part < parts.parts; ++part)
            Merges::merge(all, found[part * parts.count + group]);
        store_joined<Merges>(results, views, views.dtype, group, all);
    }
};

} // namespace detreduce::cuda::multiset
