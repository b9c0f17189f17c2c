// A-priori error bounds: how wrong a sum may be, from the method, the format and n alone.
//
// Let d be the most roundings that any element goes through. Each is a factor 1 + δ with |δ| ≤ u = 2^−precision, so
//     |result − Σx| ≤ γ_d · Σ|x|,   γ_d = d·u / (1 − d·u)        (Higham, Accuracy and Stability, 2nd ed. 2002, §4.2)
// whenever d·u < 1. An addition cannot underflow with an error (Hauser 1996: sums of multiples of 2^min_exponent are multiples of
// it), so subnormals need no extra term. Overflow is another matter: the bound holds when no partial sum overflows, which
// cannot_overflow() can promise beforehand.
#pragma once

#include <cstdint>

#include <detreduce/accuracy/oracle.hpp>
#include <detreduce/types.hpp>

namespace detreduce::accuracy {

/// d for n elements; 0 when n < 2. `atomic` adds in whatever order, at worst one after the other, as `serial` does.
[[nodiscard]] std::uint64_t rounding_depth(Method method, DType dtype, std::uint64_t n) noexcept;

/// γ_d as a double that is not below it; +inf when d·u ≥ 1.
[[nodiscard]] double gamma_bound(DType dtype, std::uint64_t depth) noexcept;

/// γ_d of a method: |result − Σx| ≤ error_bound · Σ|x|.
[[nodiscard]] double error_bound(Method method, DType dtype, std::uint64_t n) noexcept;

/// What flushing subnormals may add to the error, absolutely. 0 but for `atomic` in f32: the GPU's atomic addition to global memory
/// takes subnormal operands and results for zero, which loses less than 2·2^−126 each time, at most n times.
[[nodiscard]] double flush_bound(Method method, DType dtype, std::uint64_t n) noexcept;

/// What to expect rather than fear: exp(λ√d·u + d·u²/(1−u)) − 1 grows with √d and holds with probability at least
/// 1 − 2n·exp(−λ²(1−u)²/2) when rounding errors are independent with mean zero (Higham & Mary, SISC 41, 2019). For plots: it
/// uses the C library's exp and is not exact. λ = 6 makes failure rarer than 10^-7 per element.
[[nodiscard]] double probabilistic_bound(Method method, DType dtype, std::uint64_t n, double lambda = 6.0) noexcept;

/// No partial sum of any order with at most `depth` roundings an element can overflow T: Σ|x|·(1 + γ_d) ≤ the largest finite T.
template <class T>
[[nodiscard]] bool cannot_overflow(const ExactSum& exact, std::uint64_t depth) {
    using F = fp::Format<T>;
    const cpp_int one = 1;
    const cpp_int unit = one << F::precision; // 1/u
    if (!exact.all_finite() || depth >= unit) return exact.all_finite() && exact.scaled_abs() == 0;
    const unsigned top = static_cast<unsigned>(F::max_exponent + 1 - F::precision - ExactSum::lowest_exponent);
    const cpp_int largest = ((one << F::precision) - 1) << top;
    return exact.scaled_abs() * unit <= largest * (unit - depth); // 1 + γ_d = unit / (unit − d)
}

/// |result − Σx| ≤ γ_d·Σ|x| (+ flushed), decided in integers, without any rounding: |r − s|·(1/u − d) ≤ d·Σ|x|.
/// depth·u ≥ 1 bounds nothing: true for every finite result. With NaN or infinities among the inputs the result must be the one that
/// SPEC.md names. `flushed` (see flush_bound) is added to the right-hand side. An infinite or NaN result of finite inputs (some partial sum overflowed) is within no bound: false, even where the
/// exact sum overflows too; ask cannot_overflow() first when that may happen.
template <class T>
[[nodiscard]] bool within_bound(T result, const ExactSum& exact, std::uint64_t depth, double flushed = 0) {
    if (!exact.all_finite()) return fp::to_bits(result) == fp::to_bits(exact.round<T>());
    if (!is_finite(result)) return false;
    const cpp_int unit = cpp_int(1) << fp::Format<T>::precision;
    if (depth >= unit) return true;
    const cpp_int error = abs(cpp_int(scaled_value(result) - exact.scaled()));
    return (error - scaled_value(flushed)) * (unit - depth) <= depth * exact.scaled_abs();
}

} // namespace detreduce::accuracy
