// Reductions of data in host memory, on the CPU.
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include <detreduce/plan.hpp>

#pragma GCC visibility push(default)
namespace detreduce {

/// float16, bfloat16, float, double, float8_e4m3 or float8_e5m2.
template <class T>
concept Element = requires {
    DTypeOf<T>::value;
};

/// What has elements in a row in memory: a vector, an array, a span, …
template <class R>
concept Elements =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && Element<std::ranges::range_value_t<R>>;
template <Elements R>
using ElementOf = std::ranges::range_value_t<R>;

/// Refuses ops whose results are more than one number, which have calls of their own.
inline void require_one_result(Op op) {
    if (info(op).results != 1)
        throw_if_error(
            {StatusCode::invalid_argument, "op", "allowed are ops of one result; there are minmax() and moments()"});
}

/// `op` of `x`, or of `x` and `y`, on the CPU, as run() computes it, returned as an Out.
///
/// shapes       ops of two inputs: as many elements in y as in x; ops of one input: no y
/// guarantee    info(method).guarantee; `launch` (threads, instruction set) never changes a bit of
///              a deterministic method. The bits of every method but `atomic` are those of the CUDA
///              backend.
/// workspace    none; a thread's first call takes 384 KiB, which it keeps; with one thread nothing
///              else is allocated
/// errors       throws Error: what make_plan() and run() refuse; argument y when it is not as long
///              as x
template <Element Out, Elements X, Elements Y>
[[nodiscard]] Out reduce_as(Op op, const X& x, const Y& y, Method method = Method::automatic,
                            const Launch& launch = {}) {
    using T = ElementOf<X>;
    static_assert(std::same_as<T, ElementOf<Y>>, "x and y must have elements of the same type");
    require_one_result(op);
    if (info(op).inputs == 2 && std::ranges::size(y) != std::ranges::size(x)) {
        throw_if_error({StatusCode::invalid_argument, "y", "must have as many elements as x"});
    }
    const Request request{.op = op,
                          .method = method,
                          .dtype = dtype_of<T>,
                          .output = dtype_of<Out>,
                          .n = std::ranges::size(x),
                          .device = cpu,
                          .launch = launch};
    Out result{};
    throw_if_error(run(make_plan(request), {std::ranges::data(x), std::ranges::data(y)}, &result));
    return result;
}
template <Element Out, Elements X>
[[nodiscard]] Out reduce_as(Op op, const X& x, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<Out>(op, x, std::span<const ElementOf<X>>(), method, launch);
}

/// The same for each op, the result in the elements' format: mean(x), asum(x), sumsq(x), nrm2(x),
/// dot(x, y), sumdiffsq(x, y), mse(x, y), mae(x, y).
template <Elements X>
[[nodiscard]] ElementOf<X> mean(const X& x, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::mean, x, method, launch);
}
template <Elements X>
[[nodiscard]] ElementOf<X> asum(const X& x, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::asum, x, method, launch);
}
template <Elements X>
[[nodiscard]] ElementOf<X> sumsq(const X& x, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::sumsq, x, method, launch);
}
template <Elements X>
[[nodiscard]] ElementOf<X> nrm2(const X& x, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::nrm2, x, method, launch);
}
template <Elements X, Elements Y>
[[nodiscard]] ElementOf<X> dot(const X& x, const Y& y, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::dot, x, y, method, launch);
}
template <Elements X, Elements Y>
[[nodiscard]] ElementOf<X> sumdiffsq(const X& x, const Y& y, Method method = Method::automatic,
                                     const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::sumdiffsq, x, y, method, launch);
}
template <Elements X, Elements Y>
[[nodiscard]] ElementOf<X> mse(const X& x, const Y& y, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::mse, x, y, method, launch);
}
template <Elements X, Elements Y>
[[nodiscard]] ElementOf<X> mae(const X& x, const Y& y, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::mae, x, y, method, launch);
}

/// `op` of `x` where the op compares elements, on the CPU, as run() computes it: reduce_as() with a
/// policy for NaN.
///
/// errors       throws Error: what make_plan() and run() refuse, and ops that do not compare; no
///              other `method` gives other bits, so there is none
template <Element Out, Elements X>
[[nodiscard]] Out order_as(Op op, const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    if (info(op).kind != Kind::order)
        throw_if_error({StatusCode::invalid_argument, "op", "allowed are min, max and nrminf"});
    require_one_result(op);
    const Request request{.op = op,
                          .dtype = dtype_of<ElementOf<X>>,
                          .output = dtype_of<Out>,
                          .n = std::ranges::size(x),
                          .device = cpu,
                          .launch = launch,
                          .nan = nan};
    Out result{};
    throw_if_error(run(make_plan(request), std::ranges::data(x), &result));
    return result;
}
/// The minimum, the maximum and the maximum magnitude, in the elements' format: min(x), max(x),
/// nrminf(x).
template <Elements X>
[[nodiscard]] ElementOf<X> min(const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    return order_as<ElementOf<X>>(Op::min, x, nan, launch);
}
template <Elements X>
[[nodiscard]] ElementOf<X> max(const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    return order_as<ElementOf<X>>(Op::max, x, nan, launch);
}
template <Elements X>
[[nodiscard]] ElementOf<X> nrminf(const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    return order_as<ElementOf<X>>(Op::nrminf, x, nan, launch);
}
/// The minimum and the maximum.
template <Element Out>
struct MinMax {
    Out min, max;
};
/// Both in one pass over x: the bits of min(x) and max(x). Otherwise as order_as().
template <Elements X>
[[nodiscard]] MinMax<ElementOf<X>> minmax(const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    using T = ElementOf<X>;
    const Request request{
        .op = Op::minmax, .dtype = dtype_of<T>, .n = std::ranges::size(x), .device = cpu, .launch = launch, .nan = nan};
    T results[2]{};
    throw_if_error(run(make_plan(request), std::ranges::data(x), results));
    return {results[0], results[1]};
}
/// The index, from 0, of the first minimum or maximum; otherwise as order_as().
template <Elements X>
[[nodiscard]] std::uint64_t arg(Op op, const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    if (op != Op::argmin && op != Op::argmax)
        throw_if_error({StatusCode::invalid_argument, "op", "allowed are argmin and argmax"});
    const Request request{.op = op,
                          .dtype = dtype_of<ElementOf<X>>,
                          .n = std::ranges::size(x),
                          .device = cpu,
                          .launch = launch,
                          .nan = nan};
    std::uint64_t index = 0;
    throw_if_error(run(make_plan(request), std::ranges::data(x), &index));
    return index;
}
template <Elements X>
[[nodiscard]] std::uint64_t argmin(const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    return arg(Op::argmin, x, nan, launch);
}
template <Elements X>
[[nodiscard]] std::uint64_t argmax(const X& x, NanPolicy nan = NanPolicy::propagate, const Launch& launch = {}) {
    return arg(Op::argmax, x, nan, launch);
}

/// Mean and variance of `x`, or what of them Op::variance, Op::stddev or Op::moments gives, on the
/// CPU, as run() computes it: in the order in which run() writes them.
///
/// ddof         what is taken from n in the variance's divisor n − ddof: 0 for the variance of x
///              itself, 1 for that of what x was drawn from
/// errors       throws Error: what make_plan() and run() refuse; for other ops
template <Element Out, Elements X>
void moments_into(Op op, const X& x, Out* out, Method method = Method::automatic, std::uint64_t ddof = 0,
                  const Launch& launch = {}) {
    if (info(op).kind != Kind::moments)
        throw_if_error({StatusCode::invalid_argument, "op", "allowed are variance, stddev and moments"});
    const Request request{.op = op,
                          .method = method,
                          .dtype = dtype_of<ElementOf<X>>,
                          .output = dtype_of<Out>,
                          .n = std::ranges::size(x),
                          .device = cpu,
                          .launch = launch,
                          .ddof = ddof};
    throw_if_error(run(make_plan(request), std::ranges::data(x), out));
}
/// The variance Σ(x − mean)² / (n − ddof), in the elements' format.
template <Elements X>
[[nodiscard]] ElementOf<X> variance(const X& x, Method method = Method::automatic, std::uint64_t ddof = 0,
                                    const Launch& launch = {}) {
    ElementOf<X> result{};
    moments_into(Op::variance, x, &result, method, ddof, launch);
    return result;
}
/// Its square root.
template <Elements X>
[[nodiscard]] ElementOf<X> stddev(const X& x, Method method = Method::automatic, std::uint64_t ddof = 0,
                                  const Launch& launch = {}) {
    ElementOf<X> result{};
    moments_into(Op::stddev, x, &result, method, ddof, launch);
    return result;
}
/// Both, from one pass over x.
template <Element T>
struct Moments {
    T mean, variance;
};
template <Elements X>
[[nodiscard]] Moments<ElementOf<X>> moments(const X& x, Method method = Method::automatic, std::uint64_t ddof = 0,
                                            const Launch& launch = {}) {
    ElementOf<X> results[2]{};
    moments_into(Op::moments, x, results, method, ddof, launch);
    return {results[0], results[1]};
}

/// Product of `x` on the CPU, in the elements' format, by compensated if nothing else is said, as
/// an exact product is too long. Nothing over- or underflows on the way, and that of nothing is 1.
template <Elements X>
[[nodiscard]] ElementOf<X> prod(const X& x, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<ElementOf<X>>(Op::prod, x, method, launch);
}

/// How many elements of `x` an op counts, on the CPU, as run() computes it.
///
/// workspace    count_unique of float and double: allocated here, as many bytes as x has
/// errors       throws Error: what make_plan() and run() refuse, and ops that do not count; no
///              other method counts otherwise, so there is none
template <Elements X>
[[nodiscard]] std::uint64_t count(Op op, const X& x, const Launch& launch = {}) {
    if (info(op).kind != Kind::count)
        throw_if_error({StatusCode::invalid_argument, "op", "allowed are count_nonzero and count_unique"});
    const Plan plan = make_plan(
        {.op = op, .dtype = dtype_of<ElementOf<X>>, .n = std::ranges::size(x), .device = cpu, .launch = launch});
    throw_if_error(plan.status());
    std::vector<std::uint64_t> workspace((plan.workspace_bytes() + 7) / 8);
    std::uint64_t result = 0;
    throw_if_error(run(plan, std::ranges::data(x), &result, workspace.data()));
    return result;
}
/// Elements that are not zero; NaN is not.
template <Elements X>
[[nodiscard]] std::uint64_t count_nonzero(const X& x, const Launch& launch = {}) {
    return count(Op::count_nonzero, x, launch);
}
/// Different values; −0 and +0 are one, and so are all NaN.
template <Elements X>
[[nodiscard]] std::uint64_t count_unique(const X& x, const Launch& launch = {}) {
    return count(Op::count_unique, x, launch);
}

/// Sum of `x` on the CPU: the value that run() computes, returned. The bits of every method but
/// `atomic` are those of the CUDA backend.
///
/// formula      the true sum of all elements rounded once (exact), or added in the order that
///              lib/SPEC.md gives for the method
/// dtypes       of every Element; sum_as<Out>(x) rounds to another of them, as Request::output does
/// guarantee    info(method).guarantee; `launch` (threads, instruction set) never changes a bit of
///              a deterministic method
/// error bound  as run()
/// workspace    none; a thread's first call takes 384 KiB, which it keeps; with one thread nothing
///              else is allocated
/// errors       throws Error when launch.threads is out of range, or the processor lacks launch.isa
/// NaN, empty   as run()
template <class Out, class T>
[[nodiscard]] Out sum_as(std::span<const T> x, Method method = Method::automatic, const Launch& launch = {}) {
    return reduce_as<Out>(Op::sum, x, method, launch);
}
#define DETREDUCE_SUM(name, c_name, type)                                                                              \
    [[nodiscard]] inline type sum(std::span<const type> x, Method method = Method::automatic,                          \
                                  const Launch& launch = {}) {                                                         \
        return sum_as<type>(x, method, launch);                                                                        \
    }
DETREDUCE_FORMATS(DETREDUCE_SUM)
#undef DETREDUCE_SUM

/// Instruction sets that this processor and this build offer, baseline first.
[[nodiscard]] std::span<const Isa> available_isas() noexcept;

} // namespace detreduce
#pragma GCC visibility pop
