// A-priori error bounds: how wrong a sum may be, from the method, the formats and n alone.
//
// Elements of the format `input` are added in that of its accumulator (accumulator_of), with unit
// roundoff u = 2^−precision, and the result is rounded once to the format `output`, with u_o. Write
// s = Σx, A = Σ|x|, γ_k = k·u / (1 − k·u) for k·u < 1 (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed. 2002, §3.4 and §4.2), and d = rounding_depth(), the most additions that any
// element goes through. All bounds hold when nothing overflows; cannot_overflow() can promise that
// beforehand. One element alone is converted, and not even that is an error unless the output has
// fewer bits than the input.
//
// tree, serial, atomic. Each addition is a factor 1 + δ, |δ| ≤ u, on every element below it, so
// what the accumulator ends with, ŝ, has |ŝ − s| ≤ γ_d·A. An output as wide as the accumulator
// takes it as it is; rounding to a narrower one adds u_o·|ŝ|, which is at most u_o·|s| + u_o·γ_d·A:
//     |result − s| ≤ γ_d·A,   or   u_o·|s| + (1 + u_o)·γ_d·A.
//
// kahan, compensated. The error e_v of each addition v is known exactly. It is at most u times the
// sum before rounding, in which an element with k roundings behind it weighs at most |x|·(1 + u)^k:
// Σ|e_v| ≤ Σ_{k<d} u·(1 + u)^k·A = ((1 + u)^d − 1)·A ≤ γ_d·A.
// The e_v are added up beside the sum: one addition takes e_v in, and every merge above v is two
// more. At a lowest v, which adds two elements, the first of them is exact, as nothing was lost
// there before, and there are at most d − 1 merges above; any other v has at most d − 2. So no e_v
// goes through more than 2(d − 1) roundings, and the sum of the errors ê has
// |ê − Σe_v| ≤ γ_{2(d−1)}·γ_d·A. As s = ŝ + Σe_v, and the result is ŝ + ê rounded once,
//     |result − s| ≤ u_o·|s| + (1 + u_o)·γ_{2(d−1)}·γ_d·A.
// For two elements that is the correctly rounded sum, and for no n is it above tree's bound: the
// tests compare them.
//
// exact. One rounding: |result − s| ≤ u_o·|s|.
//
// Underflow. Elements, and so all partial sums and errors, are multiples of the input's smallest
// subnormal, and such sums cannot underflow with an error (Hauser 1996). Only an output whose
// smallest subnormal 2^m is larger than the input's can lose something more there: half of it,
// 2^(m−1).
#pragma once

#include <cstdint>

#include <detreduce/accuracy/error_bound.hpp>
#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/types.hpp>

namespace detreduce::accuracy {

/// The format in which elements of `input` are added: f32 for the 16-bit formats, else `input`.
[[nodiscard]] DType accumulator_of(DType input) noexcept;

/// d for n elements; 0 when n < 2, and for `exact`. `atomic` adds in whatever order, at worst one
/// after the other, as `serial` does.
[[nodiscard]] std::uint64_t rounding_depth(Method method, DType input, std::uint64_t n) noexcept;

/// γ_depth for additions in `accumulator`, as a double that is not below it; +inf when depth·u ≥ 1.
[[nodiscard]] double gamma_bound(DType accumulator, std::uint64_t depth) noexcept;

/// The bound of a sum of n elements.
[[nodiscard]] ErrorBound error_bound(Method method, DType input, DType output, std::uint64_t n) noexcept;

/// The bound of the ops whose finalize is the sum, for Σt and Σ|t| of their terms t (lib/SPEC.md,
/// section 8.3): with r the roundings of a term (0 for an element or a magnitude, 1 for a square, a
/// product or an absolute difference, 3 for a squared difference), γ_{d+r} in place of γ_d, and for
/// kahan and compensated, where they are split, γ_{2d+6}·γ_{d+3}. Squares and products may
/// underflow, by less than four of the smallest subnormals of the accumulator each.
[[nodiscard]] ErrorBound error_bound(Op op, Method method, DType input, DType output, std::uint64_t n) noexcept;

/// Bounds of mean and variance by `tree` and `serial` (lib/SPEC.md, section 12), where nothing
/// overflows:
///
///     |mean − Σx/n| ≤ of_mean·|Σx|/n + of_abs·Σ|x|/n + absolute
///     |variance − V| ≤ (of_m2·M2 + of_mixed·√(M2·Σx²) + of_squares·Σx² + absolute_m2)/(n − ddof) + absolute
///
/// with M2 = Σ(x − Σx/n)² and V = M2/(n − ddof). After Chan, Golub & LeVeque, Algorithms for
/// computing the sample variance (The American Statistician 37, 1983), whose condition number is
/// √(Σx²/M2), with the constants that this order has. Why they hold, with D the most merges that an
/// element goes through, and u, η of the accumulator's format:
///
/// A merge computes m₁ + w·(m₂ − m₁) with four roundings of the second term (the difference,
/// w = n₂/n, its two counts) and one more of all, and w ≤ 1/2. If the errors of m₁ and m₂ are
/// at most g times the mean magnitudes of their groups, that of the merged mean is
/// at most (1 + g)(1 + γ₄)(1 + u) − 1 times the mean magnitude of both: at the root at most γ_{5D}.
/// M2 is a sum of terms c·d² over the merges, c = n₁n₂/n, each with at most 2D + 7 roundings, and d
/// is off by e: that of two means. By Minkowski √M2 is then off by at most √(Σc·e²) besides these
/// roundings; c·e² is at most g² times the sum of the squares that are merged, so
/// Σc·e² ≤ D·γ²_{5D}·Σx². Squares may underflow, by η/2 each, before they are multiplied by c,
/// Σc ≤ n·D/2, and so may every M2 and every mean.
struct MomentsBound {
    double of_mean, of_abs, of_m2, of_mixed, of_squares, absolute_m2, absolute;
};
[[nodiscard]] MomentsBound moments_bound(Method method, DType input, DType output, std::uint64_t n) noexcept;

/// The bound of a product of n elements by `tree`, `serial` or `compensated`:
/// |result − Πx| ≤ of_sum·|Πx| + absolute, of_abs is 0. Exponents are kept apart, so significands
/// alone are rounded, and nothing over- or underflows but the result, which is rounded once: half
/// of its smallest subnormal (f64: all of it, as no double is half of it). Every multiplication is
/// a factor 1 + δ of the whole product, wherever in the tree it is, and there are n − 1.
///
/// tree, serial: |δ| ≤ u, so γ_{n−1} (Higham, §3.1), and u_o more for an output of fewer bits than
/// the accumulator.
///
/// compensated: every multiplication is DWTimesDW2 of Joldes, Muller & Popescu (ACM TOMS 44, 2017),
/// |δ| ≤ 6u²; here 7u², which leaves room for what underflows in the lower of the two numbers,
/// 2^−120·u² at most. With the final rounding u_o + (1 + u_o)·k·u² / (1 − k·u²), k = 7(n − 1). (The
/// scheme of Graillat, 2009, has u + γ_n·γ_2n, which in f32 says nothing beyond n = 2^23.)
[[nodiscard]] ErrorBound product_bound(Method method, DType input, DType output, std::uint64_t n) noexcept;

/// What flushing subnormals may add to `absolute`. 0 but for `atomic` on bf16 and f32: the GPU's
/// atomic addition to global memory takes subnormal operands and results in f32 for zero. What lies
/// in memory is never subnormal then, so each loses less than 2^−126, at most n times, and twice
/// that leaves room for what later roundings make of it. (Sums of f16 are never subnormal there.)
[[nodiscard]] double flush_bound(Method method, DType input, std::uint64_t n) noexcept;

/// What to expect rather than fear: error_bound with exp(λ√k·u + k·u²/(1−u)) − 1, which grows with
/// √k, in place of γ_k (of the two γ of `kahan` and `compensated`, of the first; Σ|e_v| stays as
/// large as it is). It holds with probability at least 1 − 2n·exp(−λ²(1−u)²/2) when rounding errors
/// are independent with mean zero (Higham & Mary, SISC 41, 2019). For plots: it uses the C
/// library's exp and is not exact. λ = 6 makes failure rarer than 10^-7 per element.
[[nodiscard]] ErrorBound probabilistic_bound(Method method, DType input, DType output, std::uint64_t n,
                                             double lambda = 6.0) noexcept;

/// No partial sum of the terms in any order that the method may take overflows its accumulator,
/// Σ|x|·(1 + γ_d) ≤ the largest number there (`exact` has none); nor the result an output of fewer
/// bits, |Σx| + of_abs·Σ|x| ≤ the largest number there.
[[nodiscard]] bool cannot_overflow(const ExactSum& exact, Method method, DType input, DType output);

/// The bound's right-hand side as an integer, in units of 2^(2·ExactSum::lowest_exponent);
/// `flushed` (see flush_bound) comes on top. The bound must be finite.
[[nodiscard]] cpp_int scaled_limit(const ErrorBound& bound, const ExactSum& exact, double flushed = 0);

/// |result − Σx| ≤ the bound (+ flushed), decided in integers, without any rounding. T may be any
/// format, whatever the inputs were. An infinite bound is true for every finite result. With NaN or
/// infinities among the inputs the result must be the one that SPEC.md names. An infinite or NaN
/// result of finite inputs (some partial sum overflowed) is within no bound: false, even where the
/// exact sum overflows too; ask cannot_overflow() first when that may happen.
template <class T>
[[nodiscard]] bool within_bound(T result, const ExactSum& exact, const ErrorBound& bound, double flushed = 0) {
    if (!exact.all_finite()) return fp::to_bits(result) == fp::to_bits(exact.round<T>());
    if (!is_finite(result)) return false;
    if (!is_finite(bound.of_sum) || !is_finite(bound.of_abs) || !is_finite(bound.absolute)) return true;
    const cpp_int error = abs(cpp_int(scaled_value(result) - exact.scaled()));
    return (error << static_cast<unsigned>(-ExactSum::lowest_exponent)) <= scaled_limit(bound, exact, flushed);
}

} // namespace detreduce::accuracy
