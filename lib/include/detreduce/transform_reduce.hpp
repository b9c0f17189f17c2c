// transform_reduce: sums and means of f(xᵢ), or of f(xᵢ, yᵢ), for a function f of the caller's own,
// with the bits that the library's own ops have. This header is for data in host memory;
// transform_reduce.cuh, for code that nvcc compiles, adds the GPU.
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>
#include <detreduce/host.hpp>
#include <detreduce/plan.hpp>

// float and double in registers of their own formats: what is kept in wider ones (x87) has other
// bits.
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16 // 16: of _Float16
#error "detreduce: transform_reduce() needs float and double without excess precision; compile with -mfpmath=sse"
#endif

#pragma GCC visibility push(default)
namespace detreduce {

/// How to reduce the terms.
struct TransformOptions {
    Method method = Method::automatic; ///< automatic, exact, compensated, kahan or tree
    Finalize finalize = Finalize::sum; ///< sum or mean
    Launch launch = {}; ///< CUDA: of tree, kahan and compensated two_pass in blocks of 256 threads is all that there is
    bool state = false; ///< exact: the state of the sum, which `out` of std::int64_t is for, in the place of its result
};

/// A plan of the states that transform_reduce() writes of elements of T: for merge(), normalize(),
/// finish() and serialize() of states.hpp, and for all_reduce_states() of mpi.hpp and nccl.hpp.
/// They are those of a flat sum or mean of f32, of doubles f64, which the terms are. errors: its
/// status, as make_plan().
[[nodiscard]] Plan transform_states(DType dtype, DType output, const TransformOptions& options = {},
                                    const Device& device = cpu) noexcept;

/// What f takes and gives for elements of T: float for float16, bfloat16 and float, double for
/// double.
template <Element T>
using TermOf = fp::Arithmetic<T>;

/// A function of one or two elements that gives a term of the very same type: nothing is rounded
/// where nobody sees it.
template <class F, class T>
concept UnaryTerm =
    std::is_invocable_v<const F&, TermOf<T>> && std::same_as<std::invoke_result_t<const F&, TermOf<T>>, TermOf<T>>;
template <class F, class T>
concept BinaryTerm = std::is_invocable_v<const F&, TermOf<T>, TermOf<T>> &&
    std::same_as<std::invoke_result_t<const F&, TermOf<T>, TermOf<T>>, TermOf<T>>;

/// What a result is written as: an element, or the words of a state.
template <class Out>
concept TermResult = Element<Out> || std::same_as<Out, std::int64_t>;

namespace detail {

/// Where terms come from: write() computes those of `count` elements from element `first` on, for
/// any thread at any time.
struct TermSource {
    const void* x;
    const void* y; ///< null for functions of one element
    const void* f;
    int inputs;
    void (*write)(const TermSource& source, std::uint64_t first, std::uint32_t count, void* terms);
};

/// The plan of a sum or mean, narrowed to what transform_reduce() offers.
struct CheckedPlan {
    Plan plan;
    Status status;
};
[[nodiscard]] CheckedPlan plan_transform(DType dtype, DType output, std::uint64_t n, const TransformOptions& options,
                                         Device device) noexcept;
/// What is wrong with the pointers of a run, if anything.
[[nodiscard]] Status check_transform(const Plan& plan, int inputs, const void* x, const void* y, const void* out,
                                     const void* workspace) noexcept;
/// Runs a plan for the CPU.
[[nodiscard]] Status run_transform(const Plan& plan, const TermSource& source, void* out) noexcept;

/// Is a * b + c rounded once where terms are computed? The product, 1 − 2^−2k, has more bits than a
/// V, so the sum is −2^−2k only if the product was not rounded, in every rounding mode. Volatile:
/// no compiler may compute it. A template of what write_terms() is one of, and like that never
/// inlined, so that the linker keeps both of the same source, and with the same flags.
template <class T, class F, int Inputs>
[[nodiscard]] __attribute__((noinline)) bool contracts() noexcept {
    using V = TermOf<T>;
    constexpr V step = fp::is_f32<V> ? V{0x1p-13} : V{0x1p-30};
    const volatile V numbers[] = {1 + step, 1 - step, -1};
    const V a = numbers[0], b = numbers[1], c = numbers[2];
    return a * b + c == -step * step;
}

template <class T, class F, int Inputs>
void write_terms(const TermSource& source, std::uint64_t first, std::uint32_t count, void* terms) {
    const F& f = *static_cast<const F*>(source.f);
    const T* const x = static_cast<const T*>(source.x) + first;
    TermOf<T>* const out = static_cast<TermOf<T>*>(terms);
    if constexpr (Inputs == 1) {
        for (std::uint32_t i = 0; i < count; ++i)
            out[i] = f(fp::widen(x[i]));
    } else {
        const T* const y = static_cast<const T*>(source.y) + first;
        for (std::uint32_t i = 0; i < count; ++i)
            out[i] = f(fp::widen(x[i]), fp::widen(y[i]));
    }
}

/// What states are written to.
template <class Out>
inline constexpr DType dtype_of_out = dtype_of<Out>;
template <>
inline constexpr DType dtype_of_out<std::int64_t> = DType::f64;

/// options.state says what `out` is for.
template <class Out>
[[nodiscard]] Status check_state_out(const TransformOptions& options) noexcept {
    if (options.state == std::is_same_v<Out, std::int64_t>) return {};
    return {StatusCode::invalid_argument, "state", "must be true where `out` is of std::int64_t, and only there"};
}

template <class T, class Out, int Inputs, class F>
Status transform_on_cpu(const F& f, const T* x, const T* y, std::uint64_t n, Out* out,
                        const TransformOptions& options) noexcept {
    if (const Status bad = check_state_out<Out>(options); !bad.ok()) return bad;
    const CheckedPlan checked = plan_transform(dtype_of<T>, dtype_of_out<Out>, n, options, cpu);
    if (!checked.status.ok()) return checked.status;
    if (contracts<T, F, Inputs>())
        return {StatusCode::unsupported, "f",
                "is compiled so that a * b + c is rounded once, which gives other bits than elsewhere: compile it with "
                "-ffp-contract=off, or link detreduce::reproducible_fp"};
    return run_transform(checked.plan, {x, y, &f, Inputs, &write_terms<T, F, Inputs>}, out);
}

} // namespace detail

/// Writes the sum or the mean of f(x[i]), or of f(x[i], y[i]), of n elements to *out, on the CPU.
///
/// formula      terms tᵢ = f(xᵢ) or f(xᵢ, yᵢ), computed in float (double: in double) from elements
///              widened without error; then Σtᵢ or Σtᵢ / n. exact rounds the true value of these
///              terms once; other methods add in the order that lib/SPEC.md gives
/// shapes       x, y: n contiguous elements in host memory, aligned to the element. out: one
/// dtypes       T: float16, bfloat16, float, double. Out: as Request::output
/// f            called once for each element, as a const object, by several threads, in any order.
///              Its value must depend on its arguments and members alone. It must not throw, which
///              calls std::terminate(), nor fork and go on in the child
/// guarantee    info(method).guarantee, over the terms, if f has the same bits everywhere: + − × ÷,
///              sqrt, explicit fma, comparisons and detreduce::math have, compiled without
///              contraction and fast-math (link detreduce::reproducible_fp)
/// error bound  as run() for sums of the terms; what f itself rounds comes on top
/// workspace    none; at most 64 KiB of the stack of each thread, and what f takes
/// flags        f runs in round-to-nearest, without flushing of subnormals
/// errors       those of make_plan() and run(); also for `method` serial and atomic, for `finalize`
///              other than sum and mean, and unsupported for `f` compiled with contraction
/// states       out of std::int64_t with options.state, by exact: transform_states().state_words()
///              words, 74 of them; n may be 0
/// NaN, empty   as run() says of sums and means
/// more         docs/reference-calls.md, lib/SPEC.md, section 8.5
template <Element T, TermResult Out, UnaryTerm<T> F>
Status transform_reduce(const F& f, const T* x, std::uint64_t n, Out* out,
                        const TransformOptions& options = {}) noexcept {
    return detail::transform_on_cpu<T, Out, 1>(f, x, static_cast<const T*>(nullptr), n, out, options);
}
template <Element T, TermResult Out, BinaryTerm<T> F>
Status transform_reduce(const F& f, const T* x, const T* y, std::uint64_t n, Out* out,
                        const TransformOptions& options = {}) noexcept {
    return detail::transform_on_cpu<T, Out, 2>(f, x, y, n, out, options);
}

/// The same of ranges, returned as an Out, or in the elements' format.
///
/// errors       throws Error; argument y when it is not as long as x
template <Element Out, Elements X, class F>
requires UnaryTerm<F, ElementOf<X>>
[[nodiscard]] Out transform_reduce_as(const F& f, const X& x, const TransformOptions& options = {}) {
    Out result{};
    throw_if_error(detreduce::transform_reduce(f, std::ranges::data(x), std::ranges::size(x), &result, options));
    return result;
}
template <Element Out, Elements X, Elements Y, class F>
requires BinaryTerm<F, ElementOf<X>>
[[nodiscard]] Out transform_reduce_as(const F& f, const X& x, const Y& y, const TransformOptions& options = {}) {
    static_assert(std::same_as<ElementOf<X>, ElementOf<Y>>, "x and y must have elements of the same type");
    if (std::ranges::size(y) != std::ranges::size(x)) {
        throw_if_error({StatusCode::invalid_argument, "y", "must have as many elements as x"});
    }
    Out result{};
    throw_if_error(detreduce::transform_reduce(f, std::ranges::data(x), std::ranges::data(y), std::ranges::size(x),
                                               &result, options));
    return result;
}
template <Elements X, class F>
requires UnaryTerm<F, ElementOf<X>>
[[nodiscard]] ElementOf<X> transform_reduce(const F& f, const X& x, const TransformOptions& options = {}) {
    return transform_reduce_as<ElementOf<X>>(f, x, options);
}
template <Elements X, Elements Y, class F>
requires BinaryTerm<F, ElementOf<X>>
[[nodiscard]] ElementOf<X> transform_reduce(const F& f, const X& x, const Y& y, const TransformOptions& options = {}) {
    return transform_reduce_as<ElementOf<X>>(f, x, y, options);
}

} // namespace detreduce
#pragma GCC visibility pop
