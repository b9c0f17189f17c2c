// A-priori error bounds of row ops (lib/SPEC.md, section 17), where nothing overflows and the row is finite, but for elements −∞ that have no share in a sum.
//
// u and η are the unit roundoff and the smallest subnormal of the format V in which rows are computed, u_o and η_o those of the output, γ_k as in bounds.hpp, d
// the depth of `tree`. A bound holds for |result − true value|; results of V that are rounded to a narrower output add u_o·(|true value| + B) + η_o. All is
// computed in binary64 and enlarged by 2^−40, for its own roundings.
//
// The sum. A term is e^z·(1 + θ), |θ| ≤ ε, of z = x − c rounded, which is off by u·|x − c|, or not where c = 0. With t = u·r / (1 − u·r), r = max|x − c| over
// terms that are not +0, that is e^(x − c)·(1 + θ'), |θ'| ≤ ε' = (1 + ε)(1 + t) − 1. Positive terms added up in a tree are off by γ_d of their sum. Terms that
// are missing are less than `missing` each; S is at least about 1 where c is the greatest element, and 2^−25 where c = 0. So, relative to the true S,
//     E = (1 + ε')(1 + γ_d) − 1 + n·missing·(1, or 2^25).
// log S is then off by e = E / (1 − E), and log as a function by 0.7 units of its last place, 1.4u of itself; h + l, of which h is the nearest number, by at most
// one half unit more, 2.4u. With L = |log S| and λ = e + 2.4u·(L + e):
//     logsumexp    c = 0: e + 1.4u·(L + e). Else λ(1 + u) + u·|result| + 4u²·(|c| + L + e): c + h is split without error, and two more roundings follow
//     log_softmax  λ + (2.4u + γ₃·(1 + 4u))·(|x − c| + L + e): three subtractions
//     softmax      p·((1 + ε')(1 + u)² / (1 − E) − 1) + missing·(1, or 2^25) + η: the reciprocal and the product round
//
// Cross entropy. With b_j the bound of log_softmax of V, U_j = −log_softmax, and all weights taken as they are: no product goes through more than d + 5
// roundings (1 − s and s / n are off by 2u, as they are computed in binary64 first), so
//     loss         (1 + γ_{d+5})·((1 − s)·|w_y|·b_y + s/n·Σ|w_j|·b_j) + γ_{d+5}·((1 − s)·|w_y|·|U_y| + s/n·Σ|w_j|·|U_j|) + (n + 3)·η
//     gradient     |factor|·((1 + γ_{d+7})·b·A + γ_{d+7}·(p·A + D)) + 4·(1 + |factor|)·η, b the bound of p in V, A = (1 − s)·|w_y| + s/n·Σ|w|, and D the
//                  sizes of what is subtracted: (1 − s)·|w_y| at the target, and s/n·|w_j|
//
// Probabilities q_j in the place of a target are the same with (1 − s)·q_j + s/n in the place of what the target and all classes count, unless a weight times
// that underflows: a term goes through no more roundings.
//
// The mean of losses by a method: with B the sum of their bounds in V, E and E' what the method may cost their sum and that of weights, which are not negative,
//     (B + E + |mean|·E') / (Σw − E'), a rounding of the quotient and one to the output
//
// Normalization. The mean is off by δ, v by Δ (MomentsBound, or sumsq's ErrorBound over n and a division). With q² = v + ε, and Δ < q², 1 / √(…) is off by at
// most (1 − Δ/q²)^(−1/2) − 1 ≤ Δ/q² / (2 − 2Δ/q²) of itself, three roundings in binary64 and one to V: (1 + τ)/q in all. x − mean rounds once, and the product:
//     z            ((|x − mean| + δ)·(1 + u)²·(1 + τ) − |x − mean|) / q + η
//     scaled       |scale|·B_z + u·(|result| + |scale|·B_z) + η: one more rounding
#pragma once

#include <cstdint>

#include <detreduce/types.hpp>

namespace detreduce::accuracy {

/// A sum of exponentials: of n elements of `input`, less `reference`; reach = max|x − c| of the terms that are not +0.
struct ExpSumCase {
    DType input;
    std::uint64_t n;
    double reference, reach;
};
/// E.
[[nodiscard]] double exp_sum_bound(const ExpSumCase& c) noexcept;

/// log_sum is L; difference |x − c|; p the true softmax.
[[nodiscard]] double logsumexp_bound(const ExpSumCase& c, DType output, double log_sum) noexcept;
[[nodiscard]] double log_softmax_bound(const ExpSumCase& c, DType output, double log_sum, double difference) noexcept;
[[nodiscard]] double softmax_bound(const ExpSumCase& c, DType output, double p) noexcept;

/// What the bound of a loss is made of: (1 − s)·|w_y|·|U_y| + s/n·Σ|w_j|·|U_j|, the same with b for |U|, and the size of the loss.
struct LossSizes {
    double sizes, bounds, loss;
};
[[nodiscard]] double cross_entropy_bound(DType input, DType output, std::uint64_t n, const LossSizes& s) noexcept;
/// Of a batch: the sum of the sizes of the losses, of their bounds, and of weights, and the size of the mean.
struct MeanSizes {
    double losses, bounds, weights, mean;
};
[[nodiscard]] double mean_loss_bound(Method method, DType input, DType output, std::uint64_t rows,
                                     const MeanSizes& s) noexcept;
/// p, A and D, and the factor, which is any number.
struct SlopeSizes {
    double p, of_softmax, subtracted, factor;
};
[[nodiscard]] double cross_entropy_gradient_bound(const ExpSumCase& c, DType output, const SlopeSizes& s) noexcept;

/// Of a row: Σ|x|, Σx², Σ(x − mean)², or, of rmsnorm, Σx² again.
struct NormSizes {
    DType input;
    std::uint64_t n;
    double epsilon, abs_sum, squares, m2;
    bool centred;
};
/// δ, and τ; +∞ where nothing is promised.
struct NormErrors {
    double mean, rstd;
};
[[nodiscard]] NormErrors norm_errors(const NormSizes& s) noexcept;
/// The deviation is |x − mean|, rstd the true 1 / q, result the size of the true result; without scale it is 1, and `scaled` is false.
struct NormElement {
    double deviation, rstd, scale, result;
    bool scaled;
};
[[nodiscard]] double norm_bound(const NormSizes& s, DType output, const NormElement& e) noexcept;

} // namespace detreduce::accuracy
