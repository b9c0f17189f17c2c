// The words of losses.hpp, and how far a term may be from the true one. Documentation and tests
// read this one table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace detreduce {

/// What an element x and its target t cost; d = x − t, p the request's parameter: X(enumerator and
/// name, name in C, what x and t are (LossDomain), LossInfo::max_ulp, max_ulp_gradient,
/// max_ulp_target_gradient). The last three follow from the number of roundings and from max_ulp()
/// of log, log1p and sigmoid, 2.5 units of log(1 + e^−|x|), a unit roundoff counted as a whole
/// unit.
#define DETREDUCE_LOSSES(X)                                                                                            \
    X(mse, MSE, number, number, 3, 0.5, 0.5) /* d² */                                                                 \
    X(mae, MAE, number, number, 0.5, 0, 0)   /* |d| */                                                                 \
    /* d²/2 up to |d| = p, from there p·(|d| − p/2) */                                                             \
    X(huber, HUBER, number, number, 4, 0.5, 0.5)                                                                       \
    /* d²/2p up to |d| = p, from there |d| − p/2: huber / p; p = 0: |d| */                                          \
    X(smooth_l1, SMOOTH_L1, number, number, 4, 2, 2)                                                                   \
    /* −(t·log x + (1 − t)·log(1 − x)), logarithms ≥ −100 */                                               \
    X(bce, BCE, probability, probability, 4.5, 4.5, 3)                                                                 \
    /* bce of sigmoid(x), with p for pos_weight: −(p·t·log sigmoid(x) + (1 − t)·log sigmoid(−x)) */           \
    X(bce_with_logits, BCE_WITH_LOGITS, logit, probability, 4, 2.5, 0)                                                 \
    X(kl_div, KL_DIV, log_probability, probability, 3.5, 0, 2.5) /* t·(log t − x) */                                \
    /* kl_div of eᵗ */                                                                                               \
    X(kl_div_log_target, KL_DIV_LOG_TARGET, log_probability, log_probability, 3, 1, 3.5)                               \
    /* bce_with_logits · mᵖ, m = 1 − sigmoid(x) for t = 1, sigmoid(x) for 0, between these for others */          \
    X(focal, FOCAL, logit, probability, 11, 15, 15)
enum class Loss : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, ...) name,
    DETREDUCE_LOSSES(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What becomes of the terms: X(enumerator and name, name in C).
#define DETREDUCE_REDUCTIONS(X)                                                                                        \
    X(none, NONE) /* nothing: n results */                                                                             \
    X(sum, SUM)                                                                                                        \
    X(mean, MEAN) /* their sum over n, or, of weighted mse and mae, over the sum of the weights */
enum class Reduction : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_REDUCTIONS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What a gradient is taken with respect to: Y(enumerator and name, name in C).
#define DETREDUCE_LOSS_ARGUMENTS(Y)                                                                                    \
    Y(x, X)                                                                                                            \
    Y(target, TARGET)                                                                                                  \
    Y(weight, WEIGHT)
enum class LossArgument : std::uint8_t {
#define DETREDUCE_ENUMERATOR(name, c_name) name,
    DETREDUCE_LOSS_ARGUMENTS(DETREDUCE_ENUMERATOR)
#undef DETREDUCE_ENUMERATOR
};

/// What an element is, or a target. A logit and the logarithm of a probability are any numbers.
enum class LossDomain : std::uint8_t { number, logit, probability, log_probability };

/// What there is to say about a loss. Errors are in units of the last place, in the format in which
/// elements are added, at a *size*: the true value, where that is no less than what it is made of;
/// of bce, whose t may be no probability, |t|·|log x| + |1 − t|·|log(1 − x)|, its derivative by t
/// |log x| + |log(1 − x)|; of bce_with_logits |x|·|q| + c·log(1 + e^−|x|), its derivative
/// |q| + c·sigmoid(−|x|), q the target of the other side, p·t for x ≤ 0, else 1 − t,
/// c = p·t + 1 − t, its derivative by t |p − 1|·log(1 + e^−|x|) + |x|, p·|x| for x ≤ 0; of kl_div
/// t·(|log t| + |x|), its derivative by t |log t| + |x| + 1, of kl_div_log_target eᵗ·(|t − x| + 1);
/// of focal F·mᵖ times the size of bce_with_logits, its derivative
/// F·mᵖ·(|1 − 2t|·p·r·entropy + |q| + sigmoid(−|x|)), r = sigmoid(x)·sigmoid(−x) / m, and by t
/// F·mᵖ·(p·entropy / m + |x|), where F = 1 + p·(1 + |log m|).
struct LossInfo {
    Loss loss;
    std::string_view name;
    LossDomain x, target;
    /// Of a term, if nothing over- or underflows on the way (an underflow costs the smallest
    /// subnormal).
    double max_ulp;
    double max_ulp_gradient;        ///< of its derivative with respect to x, before weight and factor
    double max_ulp_target_gradient; ///< of that with respect to the target
};

/// How much further bce_with_logits and its derivatives may be off where p is not 1.
inline constexpr double max_ulp_of_pos_weight = 4;

inline constexpr std::array losses{
#define DETREDUCE_INFO(name, c_name, x, target, max_ulp, max_ulp_gradient, max_ulp_target_gradient)                    \
    LossInfo{Loss::name, #name, LossDomain::x, LossDomain::target, max_ulp, max_ulp_gradient, max_ulp_target_gradient},
    DETREDUCE_LOSSES(DETREDUCE_INFO)
#undef DETREDUCE_INFO
};
[[nodiscard]] constexpr const LossInfo& info(Loss loss) {
    return losses[static_cast<std::size_t>(loss)];
}

/// "?" for what is no loss, no reduction, and no argument.
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
[[nodiscard]] constexpr std::string_view name(LossArgument argument) noexcept {
#define DETREDUCE_NAME(name, c_name) #name,
    constexpr std::string_view names[] = {DETREDUCE_LOSS_ARGUMENTS(DETREDUCE_NAME)};
#undef DETREDUCE_NAME
    const auto i = static_cast<std::size_t>(argument);
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
