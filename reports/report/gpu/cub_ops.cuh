// CubOps of one type of elements; see cub_ops.hpp.
#pragma once

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/version.cuh>

#include <climits>
#include <utility>

#include <cuda/functional>
#include <cuda/std/functional>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "cub_ops.hpp"
#include "cub_terms.cuh"

namespace detreduce::report::gpu {
#if CUB_VERSION >= 300000
namespace cub_ops {

/// Where a row begins.
struct RowBegin {
    long long length;
    __host__ __device__ long long operator()(long long row) const { return row * length; }
};

/// `call(temporary, bytes, x, out, stream)` is CUB's; without temporary storage it says how much it
/// needs.
template <class Call>
Contender contender(const char* algorithm, std::string variant, std::size_t result_bytes, const Call& call) {
    std::size_t bytes = 0;
    check(call(nullptr, bytes, nullptr, nullptr, nullptr), algorithm);
    const auto temporary = std::make_shared<DeviceMemory>(bytes);
    const auto out = std::make_shared<DeviceMemory>(result_bytes);
    return {algorithm, std::move(variant), [=](const void* x, cudaStream_t stream) {
                std::size_t size = bytes;
                check(call(temporary->get(), size, x, out->get(), stream), algorithm);
            }};
}

/// TransformReduce of elements.
template <class T, class A, class Transform, class Merge>
Contender transformed(Op op, unsigned n, Transform term, Merge merge, A init) {
    return contender("cub::DeviceReduce::TransformReduce", std::string(name(op)), sizeof(A),
                     [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                         return cub::DeviceReduce::TransformReduce(temporary, bytes, static_cast<const T*>(x),
                                                                   static_cast<A*>(out), n, merge, term, init, stream);
                     });
}

/// TransformReduce of pairs: one half of n elements is x and the other y.
template <class T, class A, class Transform>
Contender of_pairs(Op op, unsigned n) {
    const unsigned half = n / 2;
    return contender("cub::DeviceReduce::TransformReduce", std::string(name(op)), sizeof(A),
                     [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                         const T* const first = static_cast<const T*>(x);
                         const T* const second = first == nullptr ? nullptr : first + half;
                         return cub::DeviceReduce::TransformReduce(
                             temporary, bytes, thrust::counting_iterator<unsigned>(0), static_cast<A*>(out), half,
                             cuda::std::plus<>{}, Pairs<T, A, Transform>{first, second}, A(0), stream);
                     });
}

/// Minimum or maximum, without its index.
template <class T>
std::optional<Contender> extreme(Op op, unsigned n) {
    if (op == Op::min)
        return contender("cub::DeviceReduce::Min", "min", sizeof(T),
                         [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                             return cub::DeviceReduce::Min(temporary, bytes, static_cast<const T*>(x),
                                                           static_cast<T*>(out), n, stream);
                         });
    return contender("cub::DeviceReduce::Max", "max", sizeof(T),
                     [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                         return cub::DeviceReduce::Max(temporary, bytes, static_cast<const T*>(x), static_cast<T*>(out),
                                                       n, stream);
                     });
}

/// And with it: the value lies behind the index.
template <class T>
std::optional<Contender> arg_extreme(Op op, unsigned n) {
    using Index = std::int64_t;
    const auto value_of = [](void* out) { return static_cast<T*>(static_cast<void*>(static_cast<Index*>(out) + 1)); };
    if (op == Op::argmin)
        return contender("cub::DeviceReduce::ArgMin", "argmin", 2 * sizeof(Index),
                         [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                             return cub::DeviceReduce::ArgMin(temporary, bytes, static_cast<const T*>(x), value_of(out),
                                                              static_cast<Index*>(out), Index{n}, stream);
                         });
    return contender("cub::DeviceReduce::ArgMax", "argmax", 2 * sizeof(Index),
                     [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                         return cub::DeviceReduce::ArgMax(temporary, bytes, static_cast<const T*>(x), value_of(out),
                                                          static_cast<Index*>(out), Index{n}, stream);
                     });
}

template <class T, class A>
Contender product(unsigned n) {
    return contender("cub::DeviceReduce::Reduce", "prod", sizeof(A),
                     [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                         return cub::DeviceReduce::Reduce(temporary, bytes, static_cast<const T*>(x),
                                                          static_cast<A*>(out), n, Multiply<A>{}, A(1), stream);
                     });
}

/// Sums, of segments between two iterators of offsets.
template <class T, class Begin>
Contender segment_sums(std::string variant, std::int64_t segments, const Begin& begin) {
    return contender("cub::DeviceSegmentedReduce::Sum", std::move(variant), segments * sizeof(T),
                     [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                         return cub::DeviceSegmentedReduce::Sum(temporary, bytes, static_cast<const T*>(x),
                                                                static_cast<T*>(out), segments, begin, begin + 1,
                                                                stream);
                     });
}
template <class T, class Begin>
Contender segment_argmax(std::string variant, std::int64_t segments, const Begin& begin) {
    using Result = cub::KeyValuePair<int, T>;
    return contender("cub::DeviceSegmentedReduce::ArgMax", std::move(variant), segments * sizeof(Result),
                     [=](void* temporary, std::size_t& bytes, const void* x, void* out, cudaStream_t stream) {
                         return cub::DeviceSegmentedReduce::ArgMax(temporary, bytes, static_cast<const T*>(x),
                                                                   static_cast<Result*>(out), segments, begin,
                                                                   begin + 1, stream);
                     });
}
/// CUB adds an int to where an element of argmax lies, so its n is smaller.
template <class T, class Begin>
std::optional<Contender> segmented(Op op, const std::string& shape, std::uint64_t n, std::uint64_t segments,
                                   const Begin& begin) {
    const std::string variant = std::string(name(op)) + " " + shape;
    const auto count = static_cast<std::int64_t>(segments);
    if (op == Op::sum) return segment_sums<T>(variant, count, begin);
    if (op == Op::argmax && n <= INT_MAX) return segment_argmax<T>(variant, count, begin);
    return std::nullopt;
}

/// What is reduced: sums of 16-bit elements' terms in f32.
template <class T>
using Accumulator = std::conditional_t<sizeof(T) == 8, double, float>;

} // namespace cub_ops

template <class T>
std::optional<Contender> CubOps<T>::flat(Op op, std::uint64_t elements) {
    using namespace cub_ops;
    using A = Accumulator<T>;
    using Limits = cuda::std::numeric_limits<T>;
    const auto n = static_cast<unsigned>(elements);
    switch (op) {
    case Op::asum:
        return transformed<T, A>(op, n, Magnitude<T, A>{}, cuda::std::plus<>{}, A(0));
    case Op::sumsq:
    case Op::nrm2:
        return transformed<T, A>(op, n, Square<T, A>{}, cuda::std::plus<>{}, A(0));
    case Op::nrminf:
        return transformed<T, A>(op, n, Magnitude<T, A>{}, cuda::maximum<>{}, A(0));
    case Op::count_nonzero:
        return transformed<T, long long>(op, n, NotZero<T>{}, cuda::std::plus<>{}, 0LL);
    case Op::dot:
        return of_pairs<T, A, Product<A>>(op, n);
    case Op::sumdiffsq:
    case Op::mse:
        return of_pairs<T, A, SquaredDifference<A>>(op, n);
    case Op::mae:
        return of_pairs<T, A, AbsoluteDifference<A>>(op, n);
    case Op::variance:
    case Op::stddev:
    case Op::moments:
        return transformed<T, Moments<A>>(op, n, ToMoments<T, A>{}, MergeMoments<A>{}, Moments<A>{0, 0, 0});
    case Op::prod:
        return product<T, A>(n);
    case Op::min:
    case Op::max:
        return extreme<T>(op, n);
    case Op::argmin:
    case Op::argmax:
        return arg_extreme<T>(op, n);
    case Op::minmax:
        return transformed<T, Range<T>>(op, n, ToRange<T>{}, Wider<T>{}, Range<T>{Limits::max(), Limits::lowest()});
    default: // sums: cub_contender(); what has no algorithm
        return std::nullopt;
    }
}

template <class T>
std::optional<Contender> CubOps<T>::rows(Op op, std::uint64_t n, std::uint64_t length) {
    const cub_ops::RowBegin begin{static_cast<long long>(length)};
    return cub_ops::segmented<T>(op, "rows of " + std::to_string(length), n, n / length,
                                 thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), begin));
}

template <class T>
std::optional<Contender> CubOps<T>::segments(Op op, const SegmentOffsets& s) {
    auto c = cub_ops::segmented<T>(op, s.name, s.n, s.segments, static_cast<const std::uint64_t*>(s.offsets->get()));
    if (c)
        c->launch = [offsets = s.offsets, launch = std::move(c->launch)](const void* x, cudaStream_t stream) {
            launch(x, stream); // which has their address
        };
    return c;
}

#else // has other arguments, or not all of these algorithms

template <class T>
std::optional<Contender> CubOps<T>::flat(Op, std::uint64_t) {
    return std::nullopt;
}
template <class T>
std::optional<Contender> CubOps<T>::rows(Op, std::uint64_t, std::uint64_t) {
    return std::nullopt;
}
template <class T>
std::optional<Contender> CubOps<T>::segments(Op, const SegmentOffsets&) {
    return std::nullopt;
}

#endif

} // namespace detreduce::report::gpu
