// Terms of losses and their derivatives, for host and device (lib/SPEC.md, section 15). One loss a type, so that the choice of it is made once for many
// elements; each computes both sides of every choice and selects, so that loops vectorize.
// V is float or double.
#pragma once

#include <detreduce/loss_words.hpp>
#include <detreduce/math.hpp>

namespace detreduce::loss_terms {

using math::detail::greater;
using math::detail::lesser;
using math::detail::magnitude;
using math::detail::select;
using math::detail::unless_nan;

/// Logarithms of bce are no less, and the product under its gradient is no less: what PyTorch has.
template <class V>
inline constexpr V log_floor = V(-100);
template <class V>
inline constexpr V product_floor = V(1e-12);

/// −1, +0 or 1; NaN of NaN.
template <class V>
[[nodiscard]] DETREDUCE_HD V sign(V d) {
    return unless_nan(d, select(d > 0, V(1), select(d < 0, V(-1), V(0))));
}

/// The target of the side on which x is not.
template <class V>
[[nodiscard]] DETREDUCE_HD V other_side(V x, V t) {
    return select(x > 0, 1 - t, t);
}

struct Mse {
    static constexpr Loss loss = Loss::mse;
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        const V d = x - t;
        return d * d;
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        return 2 * (x - t);
    }
};

struct Mae {
    static constexpr Loss loss = Loss::mae;
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        return magnitude(x - t);
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        return sign(x - t);
    }
};

struct Huber {
    static constexpr Loss loss = Loss::huber;
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V delta) {
        const V d = x - t, a = magnitude(d);
        const V near = (V(0.5) * d) * d, far = delta * (a - V(0.5) * delta);
        return select(a <= delta, near, far);
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V delta) {
        return lesser(greater(x - t, -delta), delta);
    }
};

struct SmoothL1 {
    static constexpr Loss loss = Loss::smooth_l1;
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V beta) {
        const V d = x - t, a = magnitude(d);
        const V near = ((V(0.5) * d) * d) / beta, far = a - V(0.5) * beta;
        return select(a < beta, near, far);
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V beta) {
        const V d = x - t;
        return select(magnitude(d) < beta, d / beta, sign(d));
    }
};

struct Bce {
    static constexpr Loss loss = Loss::bce;
    /// Logarithms of what is no probability are NaN, which greater() lets through. They are negated first: 0 then comes with a plus sign.
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        const V one = -greater(math::log(x), log_floor<V>), zero = -greater(math::log1p(-x), log_floor<V>);
        return t * one + (1 - t) * zero;
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        const V q = (x - t) / greater(x * (1 - x), product_floor<V>);
        return select(x >= 0, select(x <= 1, q, math::detail::nan<V>), math::detail::nan<V>);
    }
};

struct BceWithLogits {
    static constexpr Loss loss = Loss::bce_with_logits;
    /// log(1 + eˣ) − x·t without cancellation, as long as t is a probability: max(x, 0) − x·t is |x|·q. Where q is 0, that is nothing, of infinities too.
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        const V a = magnitude(x), q = other_side(x, t), rest = math::softplus(-a);
        return select(q == 0, rest, fp::fused(a, q, rest));
    }
    /// sigmoid(x) − t, which is 1 − sigmoid(−x) − t.
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        const V q = other_side(x, t), s = math::sigmoid(-magnitude(x));
        return select(x > 0, q - s, s - q);
    }
};

struct KlDiv {
    static constexpr Loss loss = Loss::kl_div;
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        return select(t == 0, unless_nan(x, V(0)), t * (math::log(t) - x));
    }
    /// NaN where the term is for what x and a finite t are.
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        return unless_nan(x, select(t >= 0, 0 - t, math::detail::nan<V>));
    }
};

/// f(L{}) for the type L of `loss`.
template <class F>
DETREDUCE_HD constexpr decltype(auto) with_loss(Loss loss, const F& f) {
    switch (loss) {
    case Loss::mae:
        return f(Mae{});
    case Loss::huber:
        return f(Huber{});
    case Loss::smooth_l1:
        return f(SmoothL1{});
    case Loss::bce:
        return f(Bce{});
    case Loss::bce_with_logits:
        return f(BceWithLogits{});
    case Loss::kl_div:
        return f(KlDiv{});
    case Loss::mse:
        break;
    }
    return f(Mse{});
}

} // namespace detreduce::loss_terms
