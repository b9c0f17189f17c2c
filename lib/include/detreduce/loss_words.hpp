// The words of losses.hpp, and how far a term may be from the true one. Documentation and tests read this one table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace detreduce {

/// What an element x and its target t cost; d = x − t, p the request's parameter: X(enumerator and name, name in C,
/// LossInfo::max_ulp, LossInfo::max_ulp_gradient). The last two follow from the number of roundings and
/// from max_ulp() of log, log1p, softplus and sigmoid, a unit roundoff counted as a whole unit.
#define DETREDUCE_LOSSES(X)                                                                                            \
    X(mse, MSE, 3, 0.5)           /* d² */                                                                            \
    X(mae, MAE, 0.5, 0)           /* |d| */                                                                            \
    X(huber, HUBER, 4, 0.5)       /* d²/2 up to |d| = p, from there p·(|d| − p/2) */                               \
    X(smooth_l1, SMOOTH_L1, 4, 2) /* d²/2p up to |d| = p, from there |d| − p/2: huber / p; p = 0: |d| */            \
    X(bce, BCE, 4.5, 4.5) /* −(t·log x + (1 − t)·log(1 − x)), logarithms ≥ −100; of probabilities */       \
    X(bce_with_logits, BCE_WITH_LOGITS, 2.5, 2.5) /* bce of sigmoid(x): log(1 + eˣ) − x·t */                       \
    X(kl_div, KL_DIV, 3.5, 0)                     /* t·(log t − x); x is the logarithm of a probability, t one */
enum class Loss : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name, max_ulp, max_ulp_gradient) name,
    DETREDUCE_LOSSES(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What becomes of the terms: X(enumerator and name, name in C).
#define DETREDUCE_REDUCTIONS(X)                                                                                        \
    X(none, NONE) /* nothing: n results */                                                                             \
    X(sum, SUM)                                                                                                        \
    X(mean, MEAN) /* their sum over n, whatever the weights */
enum class Reduction : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_REDUCTIONS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What there is to say about a loss. Errors are in units of the last place, in the format in which elements are added, at a *size*: the true value, where that
/// is no less than what it is made of; of bce, whose t may be no probability, |t|·|log x| + |1 − t|·|log(1 − x)|; of bce_with_logits |x|·|q| + softplus(−|x|), its
/// gradient's |q| + sigmoid(−|x|), q the target of the other side, t for x ≤ 0, else 1 − t; of kl_div t·(|log t| + |x|).
struct LossInfo {
    Loss loss;
    std::string_view name;
    double
        max_ulp; ///< of a term, if nothing over- or underflows on the way (an underflow costs the smallest subnormal)
    double max_ulp_gradient; ///< of its derivative, before weight and factor
};

inline constexpr std::array losses{
#define DETREDUCE_INFO(name, c_name, max_ulp, max_ulp_gradient) LossInfo{Loss::name, #name, max_ulp, max_ulp_gradient},
    DETREDUCE_LOSSES(DETREDUCE_INFO)
#undef DETREDUCE_INFO
};

/// "?" for what is no loss, and no reduction.
[[nodiscard]] constexpr std::string_view name(Loss loss) noexcept {
    const auto i = static_cast<std::size_t>(loss);
    return i < losses.size() ? losses[i].name : "?";
}
[[nodiscard]] constexpr std::string_view name(Reduction reduction) noexcept {
#define DETREDUCE_NAME(name, c_name) #name,
    constexpr std::string_view names[] = {DETREDUCE_REDUCTIONS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME
    const auto i = static_cast<std::size_t>(reduction);
    return i < std::size(names) ? names[i] : "?";
}

/// The loss whose name() is `text`; nothing when there is none.
[[nodiscard]] constexpr std::optional<Loss> parse_loss(std::string_view text) noexcept {
    for (const LossInfo& l : losses) {
        if (l.name == text) return l.loss;
    }
    return std::nullopt;
}

} // namespace detreduce
