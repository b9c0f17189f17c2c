// A-priori error bounds of row ops (lib/SPEC.md, section 17), where nothing overflows and the row
// is finite, but for elements −∞ that have no share in a sum; and of weighted means of the losses
// of elements (section 15).
//
// u and η are the unit roundoff and the smallest subnormal of the format V in which rows are
// computed, u_o and η_o those of the output, γ_k as in bounds.hpp, d the depth of `tree`. A bound
// holds for |result − true value|; results of V that are rounded to a narrower output add
// u_o·(|true value| + B) + η_o. All is computed in binary64 and enlarged by 2^−40, for its own
// roundings.
//
// The sum. A term is e^z·2^−k·(1 + θ), |θ| ≤ ε, but for a factor that the row's terms share, and
// for what λ has; of elements that are taken less the maximum, z = x − m is exact where the term
// counts. The others are positive and are added up in a tree, in which one goes through d + 3
// additions in the first level, as there are two a merging of chunks, and through two a merging
// above it, d₁: γ_D of their sum, D = d + 3 + d₁. What is
// missing, or becomes subnormal, is less than λ = 2n·2^minimum_exponent of e^m. The quotient by the
// peak has ε once more, and one rounding. So R is off by no more than E·R + λ, with
//     E = (1 + ε)(1 + γ_D)(1 + ε / (1 − ε))(1 + u) − 1
// and L = log(1 + R) by e·L + λ + η, e = E / (1 − E), as R / (1 + R) ≤ L, and as a function by 0.7
// units of its last place, 1.4u of itself. With B that sum,
// B = e·L + λ + η + 1.4u·(L + e·L + λ + η) + η:
//     logsumexp    B + u·(|result| + B)
//     log_softmax  B' + u·(|x − m| + L + B'), B' = B + u·|x − m|: relative to the result, as
//                  nothing cancels
//     softmax      p·((1 + ε)(1 + u)²(1 + F / (1 − F)) − 1) + η,
//                  F = (1 + ε)(1 + γ_D)(1 + u) − 1 + λ: a sum of all terms, the reciprocal and the
//                  product
//
// Cross entropy. With b_j the bound of log_softmax of V, U_j = −log_softmax, and all weights taken
// as they are: of the target alone there is one product. Else no product goes through more than
// d + 5 roundings (1 − s and s / n are off by 2u, as they are computed in binary64 first), so
//     loss         (1 + γ)·((1 − s)·|w_y|·b_y + s/n·Σ|w_j|·b_j) + γ·((1 − s)·|w_y|·|U_y| +
//                  s/n·Σ|w_j|·|U_j|) + (n + 3)·η, γ = γ_{d+5}; alone γ₁, and η
//     gradient     |factor|·((1 + γ_{d+7})·b·A + γ_{d+7}·(p·A + D)) + 4·(1 + |factor|)·η, b the
//                  bound of p in V, A = (1 − s)·|w_y| + s/n·Σ|w|, and D the sizes of what is
//                  subtracted: (1 − s)·|w_y| at the target, and s/n·|w_j|
//     alone        |factor·w|·((1 + G)(1 + u)^k − 1) of p, or of 1 − p at the target, relative to
//                  it, G as in softmax with (1 + ε)(1 + γ_D) for 1 + ε, k 2, or 3;
//                  and (1 + |factor|)·(λ + 3η)
//
// With z_loss λ, a number of V: M is the size of logsumexp, B_M its bound in V, b that of the loss
// l without λ in V, and ζ = 2λ·M, which is off by Z = 2λ·((1 + u)·B_M + u·M) + η:
//     loss         B = λ·((2M + B_M)·B_M·(1 + u) + u·M²) + b + 2η·(M + B_M + 1), and
//                  u·(λ·M² + l + B)
//     gradient     that above with A + ζ for A, and |factor|·(1 + γ₃)·((p + b)·Z + 3u·(p·(A +
//                  ζ) + D))
//
// Probabilities q_j in the place of a target are the same with (1 − s)·q_j + s/n in the place of
// what the target and all classes count, unless a weight times that underflows: a term goes through
// no more roundings.
//
// The mean of losses by a method: with B the sum of their bounds in V, E and E' what the method may
// cost their sum and that of weights, which are not negative,
//     (B + E + |mean|·E') / (Σw − E'), a rounding of the quotient and one to the output
//
// Weighted means of losses of elements are the same, of terms w·l. A term l is off by k units of
// its last place (loss_words.hpp), and by η where it underflows, β in all, w·l by
// |w|·β + u·|w|·(|l| + β) + η. The method adds the terms in the order of the elements. Over n or a
// batch, E' is 0.
//
// Normalization. The mean is off by δ, v by Δ (MomentsBound, or sumsq's ErrorBound over n and a
// division). With q² = v + ε, and Δ < q², 1 / √(…) is off by
// at most (1 − Δ/q²)^(−1/2) − 1 ≤ Δ/q² / (2 − 2Δ/q²) of itself, three roundings in binary64 and one
// to V: (1 + τ)/q in all. x − mean rounds once, and the product:
//     z            ((|x − mean| + δ)·(1 + u)²·(1 + τ) − |x − mean|) / q + η
//     scaled       |scale|·B_z + u·(|result| + |scale|·B_z) + η: one more rounding
// Of a row that is scaled by a power of two, with layernorm's sums of dᵢ = x'ᵢ − μ₀:
// M = m2 / n + (γ_{d+1}·Σ|x'| / n)² is no less than Σdᵢ² / n, so that with γ = γ_{d+2}
//     δ = 2γ·√M + 2u·(Σ|x'| / n), Δ = 4γ·M
//
// Gradients from upstream, d, of the formulas with the y, mean and rstd that there are; bars are
// means of sizes over the row, e the error of exp. No product goes through more roundings than γ
// says; what underflows is η each, times what it is multiplied by.
//     softmax      γ_{d+3}·|y|·(|d| + Σ|d·y|), and (n + 1)·η·|y| + η
//     log_softmax  (1 + u)·e^y·((1 + e)(1 + γ_d) − 1)·Σ|d| + u·|result|, and 5η·Σ|d| + η
//     logsumexp    |d|·((1 + u)·B + u·p) + η, B the bound of p in V
//     norms        γ_{d+10}·rstd·(|g| + ḡ + |z|·gz̄), and 2η·(1 + rstd·(5 + |z|·(ḡ + z̄ + 3) +
//                  gz̄))
//     with respect to probabilities: |c·factor|·((1 + γ_5)·B + γ_5·U), U = −log_softmax, B its bound in V, and 2η·(1 + |factor|)·(1 + U)
// Of scale: with S = Σ|d·z| the terms are off by γ₃·S + 2η·Σ(|d| + 1)·(|rstd| + 1) in all, and the
// method adds what it may cost the sum of terms of that size. The gradient with respect to shift is
// a sum of elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <detreduce/row_ops.hpp>
#include <detreduce/types.hpp>

namespace detreduce::accuracy {

/// A sum of exponentials: of n elements of `input`.
struct ExpSumCase {
    DType input;
    std::uint64_t n;
};
/// E.
[[nodiscard]] double others_bound(const ExpSumCase& c) noexcept;

/// log is L; difference |x − m|; result and p the sizes of the true logsumexp and softmax.
[[nodiscard]] double logsumexp_bound(const ExpSumCase& c, DType output, double log, double result) noexcept;
[[nodiscard]] double log_softmax_bound(const ExpSumCase& c, DType output, double log, double difference) noexcept;
[[nodiscard]] double softmax_bound(const ExpSumCase& c, DType output, double p) noexcept;

/// What the bound of a loss is made of: (1 − s)·|w_y|·|U_y| + s/n·Σ|w_j|·|U_j|, the same with b for
/// |U|, and the size of the loss. Alone: it is the target's, without smoothing.
struct LossSizes {
    double sizes, bounds, loss;
    bool alone = false;
};
[[nodiscard]] double cross_entropy_bound(DType input, DType output, std::uint64_t n, const LossSizes& s) noexcept;
/// Of a batch: the sum of the sizes of the losses, of their bounds, and of weights, none of which
/// is negative, and the size of the mean.
struct MeanSizes {
    double losses, bounds, weights, mean;
};
[[nodiscard]] double mean_loss_bound(Method method, DType input, DType output, std::uint64_t rows,
                                     const MeanSizes& s) noexcept;
/// Of a term of section 15 before it is multiplied by its weight: its size, that at which its error
/// is measured, the error in units of the last place, and how many η an underflow costs.
struct TermSizes {
    double value, size, ulps, underflow, weight;
};
[[nodiscard]] double weighted_term_bound(DType input, const TermSizes& t) noexcept;
/// Of n such terms, with their weights: the mean over the sum of the weights or, not over_weights,
/// over a number that takes its place in the sizes.
[[nodiscard]] double weighted_mean_bound(Method method, DType input, DType output, std::uint64_t n, const MeanSizes& s,
                                         bool over_weights) noexcept;
/// p, A and D, and the factor, which is any number.
struct SlopeSizes {
    double p, of_softmax, subtracted, factor;
};
[[nodiscard]] double cross_entropy_gradient_bound(const ExpSumCase& c, DType output, const SlopeSizes& s) noexcept;

/// With z_loss: λ, the size of logsumexp, and its bound in V.
struct ZSizes {
    double lambda, logsumexp, bound;
};
/// `loss` and `bound` are those without λ, in V.
[[nodiscard]] double z_loss_bound(DType input, DType output, const ZSizes& z, double loss, double bound) noexcept;
[[nodiscard]] double z_gradient_bound(const ExpSumCase& c, DType output, const SlopeSizes& s, const ZSizes& z) noexcept;

/// Of the target alone: the share is p, or 1 − p at the target, and the factor is times its weight.
[[nodiscard]] double own_gradient_bound(const ExpSumCase& c, DType output, double share, double factor,
                                        bool target) noexcept;

/// Of a row: Σ|x|, Σx², Σ(x − mean)², or, of rmsnorm, Σx² again. Of one that is scaled, of x' and
/// of the ε of that.
struct NormSizes {
    DType input;
    std::uint64_t n;
    double epsilon, abs_sum, squares, m2;
    bool centred;
    bool by_power = false; ///< is it scaled?
};
/// δ, and τ; +∞ where nothing is promised.
struct NormErrors {
    double mean, rstd;
};
[[nodiscard]] NormErrors norm_errors(const NormSizes& s) noexcept;
/// The deviation is |x − mean|, rstd the true 1 / q, result the size of the true result; without
/// scale it is 1, and `scaled` is false.
struct NormElement {
    double deviation, rstd, scale, result;
    bool scaled;
};
[[nodiscard]] double norm_bound(const NormSizes& s, DType output, const NormElement& e) noexcept;

/// A row of a gradient that takes n numbers from upstream, which are finite. No scale: 1.
struct GradRow {
    RowOp op;
    std::span<const double> x, upstream, scale = {};
    double mean = 0, rstd = 1;
};
/// Of each element of the gradient.
[[nodiscard]] std::vector<double> row_gradient_bounds(const GradRow& row, DType input, DType output);
/// A column of x and of upstream, with what forward kept of each row; of rmsnorm no mean: 0.
struct GradColumn {
    std::span<const double> x, upstream, mean, rstd;
};
/// Of the gradient with respect to an element of scale: a sum over the rows by a method.
[[nodiscard]] double scale_gradient_bound(Method method, DType input, DType output, const GradColumn& c) noexcept;
/// p is the true softmax.
[[nodiscard]] double logsumexp_gradient_bound(const ExpSumCase& c, DType output, double p, double upstream) noexcept;
/// What the class counts, the true −log_softmax, its bound in V, and the factor.
[[nodiscard]] double target_gradient_bound(DType input, DType output, double counts, double neg_log_prob, double bound,
                                           double factor) noexcept;

} // namespace detreduce::accuracy
