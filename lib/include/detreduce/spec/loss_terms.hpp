// Terms of losses and their derivatives, for host and device (lib/SPEC.md, section 15). One loss a
// type, so that the choice of it is made once for many elements; each computes both sides of every
// choice and selects, so that loops vectorize.
// V is float or double.
#pragma once

#include <cstdint>

#include <detreduce/fp/convert.hpp>
#include <detreduce/loss_words.hpp>
#include <detreduce/math.hpp>
#include <detreduce/spec/exp_term.hpp>

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

/// log(1 + e^−a), for a ≥ 0, off by at most 0.75 units of the last place (double) and 2.5 (float).
/// Of floats in a third of the operations of math::softplus: e^−a is a term of sums of
/// exponentials, less their offset, and the polynomial minimises the relative error over 0 < e ≤ 1,
/// 2^-24.85, the first coefficient held at 1.
template <class V>
[[nodiscard]] DETREDUCE_HD V log1p_exp(V a) {
    if constexpr (fp::is_f64<V>) {
        return math::softplus(-a);
    } else {
        constexpr V less_offset = V(0x1p-64);
        static_assert(spec::ExpTermConstants<V>::offset == 64);
        const V e = spec::ExpReference<V>::template of<V>(V(0)).template term<V>(-a).value() * less_offset;
        return e * math::detail::polynomial(e, 1.0f, -0x1.ffff14p-2f, 0x1.5535dep-2f, -0x1.fd1368p-3f, 0x1.884554p-3f,
                                            -0x1.19af8ep-3f, 0x1.44707ap-4f, -0x1.eca398p-6f, 0x1.5fa0dap-8f);
    }
}

/// A loss: its term, and the derivatives of that with respect to x and to the target, of the loss's
/// parameter p.
template <Loss>
struct Terms;

template <>
struct Terms<Loss::mse> {
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        const V d = x - t;
        return d * d;
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        return 2 * (x - t);
    }
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V) {
        return slope(t, x, V(0));
    }
};

template <>
struct Terms<Loss::mae> {
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        return magnitude(x - t);
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        return sign(x - t);
    }
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V) {
        return slope(t, x, V(0));
    }
};

template <>
struct Terms<Loss::huber> {
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
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V delta) {
        return slope(t, x, delta);
    }
};

template <>
struct Terms<Loss::smooth_l1> {
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
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V beta) {
        return slope(t, x, beta);
    }
};

/// The same where beta is a power of two, as 1 is: a product with 1 / beta has the quotient's bits,
/// without a division an element.
struct SmoothL1OfPowerOfTwo {
    template <class V>
    [[nodiscard]] static DETREDUCE_HD bool takes(V beta) {
        constexpr fp::Bits<V> minimum = fp::Bits<V>{1} << math::detail::fraction_bits<V>;
        const fp::Bits<V> bits = fp::to_bits(beta);
        return bits >= minimum && bits < fp::infinity_bits<V> && (bits & (minimum - 1)) == 0;
    }
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V beta) {
        const V d = x - t, a = magnitude(d);
        const V near = ((V(0.5) * d) * d) * (1 / beta), far = a - V(0.5) * beta;
        return select(a < beta, near, far);
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V beta) {
        const V d = x - t;
        return select(magnitude(d) < beta, d * (1 / beta), sign(d));
    }
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V beta) {
        return slope(t, x, beta);
    }
};

template <>
struct Terms<Loss::bce> {
    /// Logarithms of what is no probability are NaN, which greater() lets through. They are negated
    /// first: 0 then comes with a plus sign.
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
    /// Of the logarithms as they are in the term.
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V, V) {
        return greater(math::log1p(-x), log_floor<V>) - greater(math::log(x), log_floor<V>);
    }
};

template <>
struct Terms<Loss::bce_with_logits> {
    /// log(1 + eˣ) − x·t without cancellation, as long as t is a probability: max(x, 0) − x·t is
    /// |x|·q. Where q is 0, that is nothing, of infinities too.
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        const V a = magnitude(x), q = other_side(x, t), rest = log1p_exp(a);
        return select(q == 0, rest, fp::fused(a, q, rest));
    }
    /// sigmoid(x) − t, which is 1 − sigmoid(−x) − t.
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        const V q = other_side(x, t), s = math::sigmoid(-magnitude(x));
        return select(x > 0, q - s, s - q);
    }
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V, V) {
        return -x;
    }
};

/// bce_with_logits with a pos_weight p that is not 1: p·t stands in the place of t, and of both
/// sides' logarithm the part that they share, log1p_exp(|x|), counts `shared` times.
struct PosWeighted {
    template <class V>
    static DETREDUCE_HD V other_side(V x, V t, V p) {
        return select(x > 0, 1 - t, p * t);
    }
    template <class V>
    static DETREDUCE_HD V shared(V t, V p) {
        return fp::fused(p, t, 1 - t);
    }
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V p) {
        const V a = magnitude(x), q = other_side(x, t, p), rest = shared(t, p) * log1p_exp(a);
        return select(q == 0, rest, fp::fused(a, q, rest));
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V p) {
        const V q = other_side(x, t, p), s = shared(t, p) * math::sigmoid(-magnitude(x));
        return select(x > 0, q - s, s - q);
    }
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V, V p) {
        return fp::fused(p - 1, log1p_exp(magnitude(x)), select(x > 0, -x, p * -x));
    }
};

template <>
struct Terms<Loss::kl_div> {
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        return select(t == 0, unless_nan(x, V(0)), t * (math::log(t) - x));
    }
    /// NaN where the term is for what x and a finite t are.
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        return unless_nan(x, select(t >= 0, 0 - t, math::detail::nan<V>));
    }
    /// −∞ at t = 0; NaN below.
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V) {
        return (math::log(t) - x) + 1;
    }
};

/// kl_div of the logarithm of a target.
template <>
struct Terms<Loss::kl_div_log_target> {
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V) {
        const V y = math::exp(t);
        return select(y == 0, unless_nan(x, V(0)), y * (t - x));
    }
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V) {
        return unless_nan(x, 0 - math::exp(t));
    }
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V) {
        const V y = math::exp(t);
        return select(y == 0, unless_nan(x, V(0)), y * ((t - x) + 1));
    }
};

/// bce_with_logits times mᵖ, m = 1 − sigmoid(x) where t is 1, sigmoid(x) where it is 0, and between
/// these for other targets.
template <>
struct Terms<Loss::focal> {
    using Entropy = Terms<Loss::bce_with_logits>;
    /// What all three are made of: the target of the other side, sigmoid(−|x|), m and mᵖ.
    template <class V>
    struct Parts {
        V q, s, m, scale;
        DETREDUCE_HD Parts(V x, V t, V p)
            : q(other_side(x, t)), s(math::sigmoid(-magnitude(x))), m(fp::fused(1 - 2 * q, s, q)) {
            // Of a probability that is too small for V the logarithm is known.
            const V a = magnitude(x);
            const V any = math::exp(p * select(q == 0, -(a + log1p_exp(a)), math::log(m)));
            scale = select(p == 2, m * m, select(p == 1, m, select(p == 0, unless_nan(m, V(1)), any)));
        }
    };
    template <class V>
    static DETREDUCE_HD V term(V x, V t, V p) {
        return Parts<V>(x, t, p).scale * Entropy::term(x, t, p);
    }
    /// mᵖ·(p·mʹ / m·entropy + entropyʹ), where mʹ / m = (1 − 2t)·r.
    template <class V>
    static DETREDUCE_HD V slope(V x, V t, V p) {
        const Parts<V> f(x, t, p);
        const V r = select(f.m == 0, V(1), (f.s * (1 - f.s)) / f.m);
        const V of_scale = select(r == 0, V(0), (1 - 2 * t) * (r * Entropy::term(x, t, p)));
        return f.scale * fp::fused(p, of_scale, select(x > 0, f.q - f.s, f.s - f.q));
    }
    template <class V>
    static DETREDUCE_HD V target_slope(V x, V t, V p) {
        const Parts<V> f(x, t, p);
        const V ratio = select(f.m == 0, V(1), Entropy::term(x, t, p) / f.m);
        const V size = select(f.scale == 0, V(0), f.scale * fp::fused(p * (1 - 2 * f.s), ratio, magnitude(x)));
        return select(x > 0, -size, size);
    }
};

/// Which function of x and its target: the term, or its derivative with respect to one of them.
enum class Value : std::uint8_t { term, slope, target_slope };
/// Of a gradient. With respect to a weight it is the term.
[[nodiscard]] constexpr Value gradient_value(LossArgument argument) {
    return argument == LossArgument::x        ? Value::slope
           : argument == LossArgument::target ? Value::target_slope
                                              : Value::term;
}
template <Value Which, class L, class V>
[[nodiscard]] DETREDUCE_HD V value_of(L, V x, V t, V p) {
    if constexpr (Which == Value::term) {
        return L::term(x, t, p);
    } else if constexpr (Which == Value::slope) {
        return L::slope(x, t, p);
    } else {
        return L::target_slope(x, t, p);
    }
}

/// What derivatives are multiplied by.
template <class V>
struct Factor {
    V upstream;
    std::uint64_t count; ///< what a mean is over; 0: what is no mean
    const double* sums;  ///< of a mean over the weights, the sum of the terms and theirs; else null

    [[nodiscard]] DETREDUCE_HD V factor() const {
        if (sums != nullptr) return upstream / fp::round_to<V>(sums[1]);
        return count != 0 ? upstream / static_cast<V>(count) : upstream;
    }
    /// What terms are diminished by before, where they are derivatives with respect to weights.
    [[nodiscard]] DETREDUCE_HD V center() const { return sums != nullptr ? fp::round_to<V>(sums[0] / sums[1]) : V(0); }
};

/// f(Terms<loss>{}), or what takes its place for the parameter p.
template <class V, class F>
DETREDUCE_HD constexpr decltype(auto) with_loss(Loss loss, V p, const F& f) {
    if (loss == Loss::bce_with_logits && p != 1) return f(PosWeighted{});
    if (loss == Loss::smooth_l1 && SmoothL1OfPowerOfTwo::takes(p)) return f(SmoothL1OfPowerOfTwo{});
    switch (loss) {
#define DETREDUCE_CASE(name, ...)                                                                                      \
    case Loss::name:                                                                                                   \
        return f(Terms<Loss::name>{});
        DETREDUCE_LOSSES(DETREDUCE_CASE)
#undef DETREDUCE_CASE
    }
    __builtin_unreachable(); // plans have no other
}

} // namespace detreduce::loss_terms
