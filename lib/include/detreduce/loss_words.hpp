// The words of losses.hpp, and how far a term may be from the true one. Documentation and tests read this one table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace detreduce {

/// What an element x and its target t cost; d = x − t, p the request's parameter.
enum class Loss : std::uint8_t {
    mse,             ///< d²
    mae,             ///< |d|
    huber,           ///< d²/2 up to |d| = p, from there p·(|d| − p/2)
    smooth_l1,       ///< d²/2p up to |d| = p, from there |d| − p/2: huber / p, and for p = 0 |d|
    bce,             ///< −(t·log x + (1 − t)·log(1 − x)), logarithms at least −100; x and t are probabilities
    bce_with_logits, ///< bce of sigmoid(x): log(1 + eˣ) − x·t
    kl_div,          ///< t·(log t − x); x is the logarithm of a probability, t a probability
};

/// What becomes of the terms.
enum class Reduction : std::uint8_t {
    none, ///< nothing: n results
    sum,
    mean, ///< their sum over n, whatever the weights
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

// Follows from the number of roundings and from max_ulp() of log, log1p, softplus and sigmoid, a unit roundoff counted as a whole unit.
inline constexpr std::array losses{
    LossInfo{Loss::mse, "mse", 3, 0.5},       LossInfo{Loss::mae, "mae", 0.5, 0},
    LossInfo{Loss::huber, "huber", 4, 0.5},   LossInfo{Loss::smooth_l1, "smooth_l1", 4, 2},
    LossInfo{Loss::bce, "bce", 4.5, 4.5},     LossInfo{Loss::bce_with_logits, "bce_with_logits", 2.5, 2.5},
    LossInfo{Loss::kl_div, "kl_div", 3.5, 0},
};

/// "?" for what is no loss, and no reduction.
[[nodiscard]] constexpr std::string_view name(Loss loss) noexcept {
    const auto i = static_cast<std::size_t>(loss);
    return i < losses.size() ? losses[i].name : "?";
}
[[nodiscard]] constexpr std::string_view name(Reduction reduction) noexcept {
    constexpr std::string_view names[] = {"none", "sum", "mean"};
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
