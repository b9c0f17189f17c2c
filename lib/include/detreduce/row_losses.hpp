// Cross entropy and nll of the rows of a matrix on the CPU, and their gradients, in one call.
// row_ops.hpp says what they are, and has them on the GPU.
//
//     float loss = dr::cross_entropy(logits, rows, targets);                 // the mean, exact
//     std::vector<float> dx = dr::row_loss_gradient(dr::RowOp::cross_entropy, logits, rows, targets);
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <detreduce/losses.hpp>
#include <detreduce/row_ops.hpp>

namespace detreduce {

/// What the shorter calls may be told.
struct RowLossOptions {
    std::optional<Reduction> reduction = {}; ///< empty: mean
    Method method = Method::automatic;
    double label_smoothing = 0;       ///< cross entropy: 0 … 1
    double z_loss = 0;                ///< the same: this times logsumexp² is added to a row's loss
    std::int64_t ignore_index = -100; ///< rows with this target do not count
    Launch launch = {};
};

/// What rows are compared with: a class a row, std::int64_t, or, of cross entropy, a probability of
/// each class, elements like those of x. Numbers of other types are refused by name.
template <class Y, class X>
concept RowTargets = Elements<X> && std::ranges::contiguous_range<Y> && std::ranges::sized_range<Y> &&
    (std::integral<std::ranges::range_value_t<Y>> || Element<std::ranges::range_value_t<Y>>);

namespace detail {

inline void require_row_loss(RowOp op) {
    if (op != RowOp::cross_entropy && op != RowOp::nll)
        throw_if_error({StatusCode::invalid_argument, "op", "allowed are cross_entropy and nll"});
}

/// The rows' losses or their sum or mean, or their gradient. Throws Error.
template <Elements X, RowTargets<X> Y>
[[nodiscard]] std::vector<ElementOf<X>> row_loss_on_cpu(RowOp op, const X& x, std::uint64_t rows, const Y& target,
                                                        const WeightsOf<ElementOf<X>>& weight,
                                                        const RowLossOptions& o) {
    using T = ElementOf<X>;
    using Target = std::ranges::range_value_t<Y>;
    constexpr bool classes = std::integral<Target>;
    static_assert(!classes || std::same_as<Target, std::int64_t>, "targets that are classes must be std::int64_t");
    static_assert(classes || std::same_as<Target, T>, "targets that are probabilities must have the type of x");
    const auto require = [](bool holds, const char* argument, const char* allowed) {
        if (!holds) throw_if_error({StatusCode::invalid_argument, argument, allowed});
    };
    const std::uint64_t elements = std::ranges::size(x), n = rows > 0 ? elements / rows : 1;
    require(rows > 0 ? elements % rows == 0 : elements == 0, "rows", "must divide the number of elements of x");
    require(std::ranges::size(target) == (classes ? rows : elements), "target",
            "must have as many classes as there are rows, or as many probabilities as x has elements");
    require(!weight || rows == 0 || weight->size() == n, "weight", "must have as many elements as a row");
    const RowPlan plan = throwing::make_row_plan({.op = op,
                                                  .dtype = dtype_of<T>,
                                                  .n = n,
                                                  .rows = rows,
                                                  .label_smoothing = o.label_smoothing,
                                                  .z_loss = o.z_loss,
                                                  .ignore_index = o.ignore_index,
                                                  .reduction = o.reduction,
                                                  .method = o.method,
                                                  .device = cpu,
                                                  .launch = o.launch});
    const bool gradient = op == RowOp::cross_entropy_gradient || op == RowOp::nll_gradient;
    const bool reduced = !gradient && o.reduction != Reduction::none;
    std::vector<T> out(reduced ? 1 : rows * plan.results());
    std::vector<double> workspace((plan.workspace_bytes() + 7) / 8);
    RowArrays arrays{.x = std::ranges::data(x), .out = out.data(), .weights = weight ? weight->data() : nullptr};
    if constexpr (classes) {
        arrays.targets = std::ranges::data(target);
    } else {
        arrays.probabilities = std::ranges::data(target);
    }
    throwing::run(plan, arrays, workspace.data());
    return out;
}

} // namespace detail

/// The mean or sum of the losses of the rows of x, which lie next to each other, by
/// RowOp::cross_entropy or nll, on the CPU, as run() computes it. `weight`: one a class, or
/// nothing.
///
/// errors       throws Error: what make_row_plan() and run() refuse; argument rows when it does not
///              divide x, target or weight when it is not as long as it must be, op for one that is
///              no loss; reduction none
template <Elements X, RowTargets<X> Y>
[[nodiscard]] ElementOf<X> row_loss(RowOp op, const X& x, std::uint64_t rows, const Y& target,
                                    const WeightsOf<ElementOf<X>>& weight, const RowLossOptions& options = {}) {
    detail::require_row_loss(op);
    if (options.reduction == Reduction::none)
        throw_if_error({StatusCode::invalid_argument, "reduction",
                        "allowed are sum and mean; for none there is row_loss_terms()"});
    return detail::row_loss_on_cpu(op, x, rows, target, weight, options)[0];
}

/// The losses of the rows. Otherwise as row_loss().
template <Elements X, RowTargets<X> Y>
[[nodiscard]] std::vector<ElementOf<X>> row_loss_terms(RowOp op, const X& x, std::uint64_t rows, const Y& target,
                                                       const WeightsOf<ElementOf<X>>& weight = {},
                                                       RowLossOptions options = {.reduction = Reduction::none}) {
    detail::require_row_loss(op);
    if (options.reduction != Reduction::none)
        throw_if_error(
            {StatusCode::invalid_argument, "reduction", "allowed is none, which {.reduction = none, …} says"});
    return detail::row_loss_on_cpu(op, x, rows, target, weight, options);
}

/// The gradient with respect to x of what row_loss(), or of reduction none each of
/// row_loss_terms(), gives. Otherwise as row_loss().
template <Elements X, RowTargets<X> Y>
[[nodiscard]] std::vector<ElementOf<X>> row_loss_gradient(RowOp op, const X& x, std::uint64_t rows, const Y& target,
                                                          const WeightsOf<ElementOf<X>>& weight = {},
                                                          const RowLossOptions& options = {}) {
    detail::require_row_loss(op);
    return detail::row_loss_on_cpu(op == RowOp::nll ? RowOp::nll_gradient : RowOp::cross_entropy_gradient, x, rows,
                                   target, weight, options);
}

template <Elements X, RowTargets<X> Y>
[[nodiscard]] ElementOf<X> cross_entropy(const X& x, std::uint64_t rows, const Y& target,
                                         const RowLossOptions& options = {}) {
    return row_loss(RowOp::cross_entropy, x, rows, target, {}, options);
}
template <Elements X, RowTargets<X> Y>
[[nodiscard]] ElementOf<X> nll(const X& x, std::uint64_t rows, const Y& target, const RowLossOptions& options = {}) {
    static_assert(std::integral<std::ranges::range_value_t<Y>>, "nll has classes for targets, std::int64_t");
    return row_loss(RowOp::nll, x, rows, target, {}, options);
}

} // namespace detreduce
