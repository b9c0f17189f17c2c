// What CUB's algorithms are given to compute ops with: terms of elements and pairs, and merges of
// what they make.
#pragma once

namespace detreduce::report::gpu::cub_ops {

/// What each element becomes; A is what is reduced.
template <class T, class A>
struct Magnitude {
    __device__ A operator()(T x) const { return fabs(static_cast<A>(x)); }
};
template <class T, class A>
struct Square {
    __device__ A operator()(T x) const { return static_cast<A>(x) * static_cast<A>(x); }
};
template <class T>
struct NotZero {
    __device__ long long operator()(T x) const { return static_cast<float>(x) != 0 ? 1 : 0; }
};
template <>
struct NotZero<double> {
    __device__ long long operator()(double x) const { return x != 0 ? 1 : 0; }
};

/// What a pair of elements becomes, found by its index.
template <class T, class A, class Transform>
struct Pairs {
    const T *x, *y;
    __device__ A operator()(unsigned i) const { return Transform{}(static_cast<A>(x[i]), static_cast<A>(y[i])); }
};
template <class A>
struct Product {
    __device__ A operator()(A x, A y) const { return x * y; }
};
template <class A>
struct SquaredDifference {
    __device__ A operator()(A x, A y) const { return (x - y) * (x - y); }
};
template <class A>
struct AbsoluteDifference {
    __device__ A operator()(A x, A y) const { return fabs(x - y); }
};

template <class A>
struct Multiply {
    __device__ A operator()(A a, A b) const { return a * b; }
};

/// Minimum and maximum.
template <class T>
struct Range {
    T minimum, maximum;
};
template <class T>
struct ToRange {
    __device__ Range<T> operator()(T x) const { return {x, x}; }
};
template <class T>
struct Wider {
    __device__ Range<T> operator()(const Range<T>& a, const Range<T>& b) const {
        return {b.minimum < a.minimum ? b.minimum : a.minimum, a.maximum < b.maximum ? b.maximum : a.maximum};
    }
};

/// Count, mean and sum of squared deviations, merged as Chan, Golub and LeVeque do (1979).
template <class A>
struct Moments {
    A count, mean, m2;
};
template <class T, class A>
struct ToMoments {
    __device__ Moments<A> operator()(T x) const { return {1, static_cast<A>(x), 0}; }
};
template <class A>
struct MergeMoments {
    __device__ Moments<A> operator()(const Moments<A>& a, const Moments<A>& b) const {
        const A count = a.count + b.count, apart = b.mean - a.mean, share = b.count / count;
        return {count, a.mean + apart * share, a.m2 + b.m2 + apart * apart * a.count * share};
    }
};

} // namespace detreduce::report::gpu::cub_ops
