// lib/SPEC.md, section 17, evaluated naively: losses of classes, gradients, and a row by any op.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "row_sum_reference.hpp"

namespace detreduce::reference {

/// 17.3 and 17.4, of a row without a class.
template <class Out, class T>
std::optional<RowOutput<Out, Sum<T>>> without_class(bool one_result, const RowInput<T>& in) {
    using V = Sum<T>;
    const std::size_t n = in.x.size();
    const bool ignored = in.target == in.ignore_index;
    if (!ignored && in.target >= 0 && in.target < static_cast<std::int64_t>(n)) return {};
    const V value = ignored ? V(0) : canonical_nan<V>();
    return RowOutput<Out, V>{std::vector<Out>(one_result ? 1 : n, stored<Out>(value)), 0, 0, value};
}

/// 17.4.
template <class Out, class T>
RowOutput<Out, Sum<T>> nll(RowOp op, const RowInput<T>& in) {
    using V = Sum<T>;
    if (const auto none = without_class<Out>(op == RowOp::nll, in)) return *none;
    const auto y = static_cast<std::size_t>(in.target);
    const V own = in.weights.empty() ? V(1) : static_cast<V>(value_of(in.weights[y]));
    if (op == RowOp::nll) {
        const V x = static_cast<V>(value_of(in.x[y]));
        return {{stored<Out>(own * -x)}, 0, 0, stored<V>(own)};
    }
    RowOutput<Out, V> result{std::vector<Out>(in.x.size(), stored<Out>(V(0)))};
    result.out[y] = stored<Out>(-own * (in.factor ? *in.factor : V(1)));
    return result;
}

/// 17.3, z-loss: λ and ζ of a row, and what they add to a loss and to an element of the gradient.
template <class T>
struct ZLoss {
    using V = Sum<T>;
    V lambda, M, zeta;

    ZLoss(const RowInput<T>& in, const RowSum<T>& sum)
        : lambda(nearest<V>(in.z_loss)), M(sum.logsumexp()), zeta(lambda == 0 ? V(0) : (2 * lambda) * M) {}
    [[nodiscard]] V loss(V l) const { return lambda == 0 ? l : std::fma(lambda * M, M, l); }
    [[nodiscard]] V coefficient(V w) const { return zeta == 0 ? w : w + zeta; }
    [[nodiscard]] V slope(V g, V p) const { return zeta == 0 ? g : std::fma(zeta, p, g); }
};

/// 17.3, with probabilities.
template <class Out, class T>
RowOutput<Out, Sum<T>> soft_cross_entropy(RowOp op, const RowInput<T>& in) {
    using V = Sum<T>;
    const std::size_t n = in.x.size();
    const RowSum<T> sum(in.x);
    const V a = nearest<V>(1 - in.smoothing), b = nearest<V>(in.smoothing / static_cast<double>(n));
    std::vector<V> coefficients, losses;
    for (std::size_t j = 0; j < n; ++j) {
        const V q = static_cast<V>(value_of(in.probabilities[j])), smooth = b == 0 ? q : std::fma(a, q, b);
        const V weight = in.weights.empty() ? V(1) : static_cast<V>(value_of(in.weights[j]));
        const V u = sum.loss(in.x[j]);
        coefficients.push_back(std::fma(weight, smooth, V(0)));
        losses.push_back(smooth == 0 && u == infinity_of<V>(false) ? V(0) : coefficients[j] * u);
    }
    const ZLoss<T> z(in, sum);
    if (op == RowOp::cross_entropy) return {{stored<Out>(z.loss(tree_of_terms<T>(losses)))}, 0, 0, V(1)};
    const V all = tree_of_terms<T>(coefficients);
    RowOutput<Out, V> result;
    for (std::size_t j = 0; j < n; ++j) {
        const V p = sum.softmax(in.x[j]);
        const V slope = sum.is_maximum(in.x[j]) && p >= V(0.5) ? std::fma(-sum.rest(), all, all - coefficients[j])
                                                               : std::fma(p, all, -coefficients[j]);
        result.out.push_back(stored<Out>(z.slope(slope, p) * (in.factor ? *in.factor : V(1))));
    }
    return result;
}

/// 17.3.
template <class Out, class T>
RowOutput<Out, Sum<T>> cross_entropy(RowOp op, const RowInput<T>& in) {
    using V = Sum<T>;
    if (!in.probabilities.empty()) return soft_cross_entropy<Out>(op, in);
    if (const auto none = without_class<Out>(op == RowOp::cross_entropy, in)) return *none;
    const std::size_t n = in.x.size();
    const RowSum<T> sum(in.x);
    const auto y = static_cast<std::size_t>(in.target);
    const auto weight = [&](std::size_t j) {
        return in.weights.empty() ? V(1) : static_cast<V>(value_of(in.weights[j]));
    };
    const auto product = [](V p, V q) { return std::fma(p, q, V(0)); };
    const V a = nearest<V>(1 - in.smoothing), b = nearest<V>(in.smoothing / static_cast<double>(n)), own = weight(y);
    std::vector<V> weights, losses;
    for (std::size_t j = 0; j < n; ++j) {
        weights.push_back(weight(j));
        losses.push_back(weight(j) * sum.loss(in.x[j]));
    }
    const ZLoss<T> z(in, sum);
    if (op == RowOp::cross_entropy) {
        const V loss = own * sum.loss(in.x[y]), part = product(a, loss);
        const V whole = b == 0 ? loss : std::fma(b, tree_of_terms<T>(losses), part);
        return {{stored<Out>(z.loss(whole))}, 0, 0, stored<V>(own)};
    }
    const V all = in.weights.empty() ? nearest<V>(static_cast<double>(n)) : tree_of_terms<T>(weights);
    const V A = z.coefficient(std::fma(b, all, product(a, own))), of_p = z.coefficient(own);
    RowOutput<Out, V> result;
    for (std::size_t j = 0; j < n; ++j) {
        const V p = sum.softmax(in.x[j]);
        V slope = b == 0 ? of_p * p : std::fma(p, A, -product(b, weights[j]));
        if (j == y) {
            const V less = sum.is_maximum(in.x[y]) ? -sum.rest() : p - 1, of_target = own * less;
            slope = z.slope(b == 0 ? of_target : std::fma(b, std::fma(p, all, -own), product(a, of_target)), p);
        }
        result.out.push_back(stored<Out>(slope * (in.factor ? *in.factor : V(1))));
    }
    return result;
}

/// 14.1: `exp`.
template <class V>
V exp_of(V x) {
    return math::exp(x); // which has tests, and golden bits, of its own
}

/// 17.7.
template <class Out, class T>
RowOutput<Out, Sum<T>> gradient(RowOp op, const RowInput<T>& in) {
    using V = Sum<T>;
    const std::size_t n = in.x.size();
    const V count = nearest<V>(static_cast<double>(n));
    RowOutput<Out, V> result;
    std::vector<V> x, d, g, z, terms;
    for (std::size_t i = 0; i < n; ++i) {
        x.push_back(static_cast<V>(value_of(in.x[i])));
        d.push_back(static_cast<V>(value_of(in.upstream[i])));
        g.push_back(in.scale.empty() ? d[i] : d[i] * static_cast<V>(value_of(in.scale[i])));
        z.push_back((x[i] - (op == RowOp::layernorm_gradient ? in.mean : V(0))) * in.rstd);
    }
    const bool softmax = op == RowOp::softmax_gradient, log_softmax = op == RowOp::log_softmax_gradient;
    for (std::size_t i = 0; i < n; ++i)
        terms.push_back(softmax ? d[i] * x[i] : log_softmax ? d[i] : g[i] * z[i]);
    const V sum = n == 0 ? V(0) : tree_of_terms<T>(terms), b = sum / count;
    const V a = op == RowOp::layernorm_gradient ? tree_of_terms<T>(g) / count : V(0);
    for (std::size_t i = 0; i < n; ++i) {
        V slope = in.rstd * std::fma(-z[i], b, op == RowOp::layernorm_gradient ? g[i] - a : g[i]);
        if (softmax) slope = x[i] * (d[i] - sum);
        if (log_softmax) slope = std::fma(-exp_of(x[i]), sum, d[i]);
        result.out.push_back(stored<Out>(slope));
    }
    return result;
}
template <class Out, class T>
RowOutput<Out, Sum<T>> gradient_of_exponentials(RowOp op, const RowInput<T>& in) {
    using V = Sum<T>;
    const auto n = static_cast<double>(in.x.size());
    const RowSum<T> sum(in.x);
    const V a = nearest<V>(1 - in.smoothing), b = nearest<V>(in.smoothing / n);
    RowOutput<Out, V> result;
    for (std::size_t j = 0; j < in.x.size(); ++j) {
        const V weight = in.weights.empty() ? V(1) : static_cast<V>(value_of(in.weights[j]));
        const V slope = op == RowOp::logsumexp_gradient
                            ? sum.softmax(in.x[j]) * *in.factor
                            : ((b == 0 ? weight : a * weight) * sum.loss(in.x[j])) * (in.factor ? *in.factor : V(1));
        result.out.push_back(stored<Out>(slope));
    }
    return result;
}

/// 17.1, what is kept of a row's sum, if that is asked for.
template <class Out, class T>
void keep_sum(RowOp op, const RowInput<T>& in, RowOutput<Out, Sum<T>>& to) {
    const bool without = op == RowOp::cross_entropy && in.probabilities.empty() && without_class<Out>(true, in);
    if (without) {
        to.exp_sums[0] = to.exp_sums[1] = canonical_nan<Sum<T>>();
    } else {
        RowSum<T>(in.x).keep(to.exp_sums);
    }
}

template <class Out, class T>
RowOutput<Out, Sum<T>> row(RowOp op, const RowInput<T>& in) {
    if (op == RowOp::logsumexp_gradient || op == RowOp::cross_entropy_target_gradient)
        return gradient_of_exponentials<Out>(op, in);
    if (op >= RowOp::softmax_gradient) return gradient<Out>(op, in);
    if (op == RowOp::layernorm || op == RowOp::rmsnorm) return normalized<Out>(op, in);
    if (op == RowOp::cross_entropy || op == RowOp::cross_entropy_gradient) return cross_entropy<Out>(op, in);
    if (op == RowOp::nll || op == RowOp::nll_gradient) return nll<Out>(op, in);
    const RowSum<T> sum(in.x);
    if (op == RowOp::logsumexp) return {{stored<Out>(sum.logsumexp())}};
    RowOutput<Out, Sum<T>> result;
    for (const T x : in.x)
        result.out.push_back(stored<Out>(op == RowOp::softmax ? sum.softmax(x) : sum.log_softmax(x)));
    return result;
}

} // namespace detreduce::reference
