// The true losses of losses.hpp, and their derivatives, by GNU MPFR, straight from the formulas.
// Microseconds a value: for tests.
#pragma once

#include <span>

#include <detreduce/loss_words.hpp>

namespace detreduce::accuracy {

/// A loss of finite numbers, for which there is a true one: bce of x in [0, 1], kl_div of t ≥ 0. V
/// is float or double, the format in which terms are computed.
template <class V>
struct LossCase {
    Loss loss;
    V parameter, x, t;
};

/// |result − loss| in units of the last place that V has at the size which loss_words.hpp names.
/// +inf for a NaN, and for an infinity unless the true term is beyond the range.
template <class V>
[[nodiscard]] double term_error_in_ulps(const LossCase<V>& c, V result);

/// The loss as the sum of two doubles, off by 2^−105 of it at most, and the size of loss_words.hpp:
/// for sums of losses.
struct TrueLoss {
    double high, low, size;
};
template <class V>
[[nodiscard]] TrueLoss true_loss(const LossCase<V>& c);

/// Σw·loss / D in the same way, D the sum of the weights or, if that is not 0, `over`.
template <class V>
[[nodiscard]] TrueLoss true_weighted_mean(std::span<const LossCase<V>> cases, std::span<const double> weights,
                                          double over);

/// The error of the derivative with respect to x or the target, where that is taken from its
/// formula,
template <class V>
[[nodiscard]] double slope_error_in_ulps(const LossCase<V>& c, V result, LossArgument argument = LossArgument::x);

/// and from central differences of the loss, so that a wrong formula is seen. Of bce where no
/// logarithm ends at −100.
template <class V>
[[nodiscard]] double difference_error_in_ulps(const LossCase<V>& c, V result, LossArgument argument = LossArgument::x);

} // namespace detreduce::accuracy
