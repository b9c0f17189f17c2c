// Gradients of row ops (lib/SPEC.md, section 17.7), for host and device. Each is one type. It says
// what is summed over the row, one or two terms of an element, each by `tree`, and what is written
// of an element once the sums are known. V is float or double.
#pragma once

#include <cstdint>

#include <detreduce/math/exp.hpp>
#include <detreduce/row_ops.hpp>
#include <detreduce/spec/row_math.hpp>

namespace detreduce::row_grads {

/// What is known of a row before it is read: what forward has kept of norms, and the number of
/// elements.
template <class V>
struct RowOf {
    V mean, rstd, count;
};
/// An element of x, of upstream, and of scale, which is 1 where there is none.
template <class V>
struct At {
    V x, upstream, scale;
};

/// x is what softmax gave.
struct Softmax {
    static constexpr RowOp op = RowOp::softmax_gradient;
    static constexpr int sums = 1;
    static constexpr bool of_norm = false;
    template <int, class V>
    static DETREDUCE_HD V term(const RowOf<V>&, const At<V>& e) {
        return e.upstream * e.x;
    }
    template <class V>
    static DETREDUCE_HD V slope(const RowOf<V>&, const At<V>& e, const V (&sum)[2]) {
        return e.x * (e.upstream - sum[0]);
    }
};

/// x is what log_softmax gave.
struct LogSoftmax {
    static constexpr RowOp op = RowOp::log_softmax_gradient;
    static constexpr int sums = 1;
    static constexpr bool of_norm = false;
    template <int, class V>
    static DETREDUCE_HD V term(const RowOf<V>&, const At<V>& e) {
        return e.upstream;
    }
    template <class V>
    static DETREDUCE_HD V slope(const RowOf<V>&, const At<V>& e, const V (&sum)[2]) {
        return fp::fused(-math::exp(e.x), sum[0], e.upstream);
    }
};

/// What both norms have in common. Their sums are divided by the number of elements.
struct Norm {
    static constexpr bool of_norm = true;
    template <class V>
    static DETREDUCE_HD V normalized(const RowOf<V>& row, const At<V>& e) {
        return spec::normalized(e.x, row.mean, row.rstd);
    }
    /// What is summed over the rows for the gradient with respect to scale.
    template <class V>
    static DETREDUCE_HD V scale_term(const RowOf<V>& row, const At<V>& e) {
        return e.upstream * normalized(row, e);
    }
};

struct LayerNorm : Norm {
    static constexpr RowOp op = RowOp::layernorm_gradient;
    static constexpr int sums = 2;
    template <int I, class V>
    static DETREDUCE_HD V term(const RowOf<V>& row, const At<V>& e) {
        const V g = e.upstream * e.scale;
        return I == 0 ? g : g * normalized(row, e);
    }
    template <class V>
    static DETREDUCE_HD V slope(const RowOf<V>& row, const At<V>& e, const V (&sum)[2]) {
        return row.rstd * fp::fused(-normalized(row, e), sum[1], e.upstream * e.scale - sum[0]);
    }
};

/// The mean is 0.
struct RmsNorm : Norm {
    static constexpr RowOp op = RowOp::rmsnorm_gradient;
    static constexpr int sums = 1;
    template <int, class V>
    static DETREDUCE_HD V term(const RowOf<V>& row, const At<V>& e) {
        return (e.upstream * e.scale) * normalized(row, e);
    }
    template <class V>
    static DETREDUCE_HD V slope(const RowOf<V>& row, const At<V>& e, const V (&sum)[2]) {
        return row.rstd * fp::fused(-normalized(row, e), sum[0], e.upstream * e.scale);
    }
};

/// Of a sum over the row, what slope() is told.
template <class G, class V>
[[nodiscard]] DETREDUCE_HD V finished(V sum, const RowOf<V>& row) {
    return G::of_norm ? sum / row.count : sum;
}

/// f(G{}) for the type G of `op`, which must be one of these four. On the host.
template <class F>
constexpr decltype(auto) with_grad(RowOp op, const F& f) {
    switch (op) {
    case RowOp::log_softmax_gradient:
        return f(LogSoftmax{});
    case RowOp::layernorm_gradient:
        return f(LayerNorm{});
    case RowOp::rmsnorm_gradient:
        return f(RmsNorm{});
    default:
        break;
    }
    return f(Softmax{});
}

/// The gradient of logsumexp: of an element's softmax, and what comes from upstream for the row.
template <class V>
[[nodiscard]] DETREDUCE_HD V logsumexp_slope(V softmax, V upstream) {
    return softmax * upstream;
}
/// That of cross entropy with respect to a probability: of the class's −log_softmax and weight.
template <class V>
[[nodiscard]] DETREDUCE_HD V probability_slope(const spec::SmoothedTarget<V>& smoothed, V neg_log_prob, V weight,
                                               V factor) {
    const V counts = smoothed.at_all == 0 ? weight : smoothed.at_target * weight;
    return (counts * neg_log_prob) * factor;
}

} // namespace detreduce::row_grads
