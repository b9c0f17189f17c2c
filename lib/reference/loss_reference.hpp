// lib/SPEC.md, section 15, evaluated naively: terms of losses and their derivatives, in the words
// of its tables. exp, log and the like have tests, and golden bits, of their own.
#pragma once

#include <cmath>
#include <limits>

#include <detreduce/losses.hpp>
#include <detreduce/math.hpp>

#include "row_reference.hpp"

namespace detreduce::reference {

/// A loss of an element and its target, of the parameter p, in V.
template <class V>
struct LossReference {
    Loss loss;
    V p, x, t;
    static constexpr V nan = std::numeric_limits<V>::quiet_NaN();

    /// max(y, c) of the text.
    static V at_least(V y, V c) { return y < c ? c : y; }
    static V sign(V d) { return d != d ? d : d > 0 ? V(1) : d < 0 ? V(-1) : V(0); }
    [[nodiscard]] LossReference of(Loss other, V parameter) const { return {other, parameter, x, t}; }
    [[nodiscard]] LossReference swapped() const { return {loss, p, t, x}; }

    [[nodiscard]] bool has_pos_weight() const { return loss == Loss::bce_with_logits && p != 1; }
    [[nodiscard]] V q() const { return x > 0 ? 1 - t : has_pos_weight() ? p * t : t; }
    [[nodiscard]] V c() const { return std::fma(p, t, 1 - t); }
    static constexpr float log1p_over[] = {1,
                                           -0x1.ffff14p-2f,
                                           0x1.5535dep-2f,
                                           -0x1.fd1368p-3f,
                                           0x1.884554p-3f,
                                           -0x1.19af8ep-3f,
                                           0x1.44707ap-4f,
                                           -0x1.eca398p-6f,
                                           0x1.5fa0dap-8f};
    /// log(1 + e^−|x|).
    [[nodiscard]] V soft() const {
        const V a = std::fabs(x);
        if constexpr (std::is_same_v<V, double>) {
            return math::softplus(-a);
        } else {
            if (x != x) return x;
            const float e = std::ldexp(Exponential<float>(at_least(-a, -0x1.2p+15f)).term(0), -64);
            return e * poly<float>(e, log1p_over);
        }
    }
    /// That, or sigmoid, times c where there is one.
    [[nodiscard]] V shared(V value) const { return has_pos_weight() ? c() * value : value; }

    // Of focal.
    [[nodiscard]] V sigma() const { return math::sigmoid(-std::fabs(x)); }
    [[nodiscard]] V m() const { return std::fma(1 - 2 * q(), sigma(), q()); }
    [[nodiscard]] V power() const {
        if (p == 0) return m() != m() ? nan : V(1);
        if (p == 1) return m();
        if (p == 2) return m() * m();
        const V a = std::fabs(x);
        return math::exp(p * (q() == 0 ? -(a + soft()) : math::log(m())));
    }
    [[nodiscard]] LossReference entropy() const { return of(Loss::bce_with_logits, 1); }

    [[nodiscard]] V term() const {
        const V d = x - t, a = std::fabs(d);
        switch (loss) {
        case Loss::mse:
            return d * d;
        case Loss::mae:
            return a;
        case Loss::huber:
            return a <= p ? (V(0.5) * d) * d : p * (a - V(0.5) * p);
        case Loss::smooth_l1:
            return a < p ? ((V(0.5) * d) * d) / p : a - V(0.5) * p;
        case Loss::bce:
            return t * -at_least(math::log(x), -100) + (1 - t) * -at_least(math::log1p(-x), -100);
        case Loss::bce_with_logits: {
            const V s = shared(soft());
            return q() == 0 ? s : std::fma(std::fabs(x), q(), s);
        }
        case Loss::kl_div:
            if (t == 0) return x != x ? nan : V(0);
            return t * (math::log(t) - x);
        case Loss::kl_div_log_target: {
            const V y = math::exp(t);
            if (y == 0) return x != x ? nan : V(0);
            return y * (t - x);
        }
        case Loss::focal:
            return power() * entropy().term();
        }
        return nan;
    }

    [[nodiscard]] V slope() const {
        const V d = x - t;
        switch (loss) {
        case Loss::mse:
            return 2 * d;
        case Loss::mae:
            return sign(d);
        case Loss::huber:
            return d < -p ? -p : d > p ? p : d;
        case Loss::smooth_l1:
            return std::fabs(d) < p ? d / p : sign(d);
        case Loss::bce:
            if (!(x >= 0 && x <= 1)) return nan;
            return (x - t) / at_least(x * (1 - x), V(1e-12));
        case Loss::bce_with_logits: {
            const V s = shared(sigma());
            return x > 0 ? q() - s : s - q();
        }
        case Loss::kl_div:
            return x != x || !(t >= 0) ? nan : 0 - t;
        case Loss::kl_div_log_target:
            return x != x ? nan : 0 - math::exp(t);
        case Loss::focal: {
            const V r = m() == 0 ? V(1) : (sigma() * (1 - sigma())) / m();
            const V of_scale = r == 0 ? V(0) : (1 - 2 * t) * (r * entropy().term());
            return power() * std::fma(p, of_scale, entropy().slope());
        }
        }
        return nan;
    }

    [[nodiscard]] V target_slope() const {
        switch (loss) {
        case Loss::bce:
            return at_least(math::log1p(-x), -100) - at_least(math::log(x), -100);
        case Loss::bce_with_logits: {
            if (!has_pos_weight()) return -x;
            const V s = soft();
            return x > 0 ? std::fma(p - 1, s, -x) : std::fma(p - 1, s, p * -x);
        }
        case Loss::kl_div:
            return (math::log(t) - x) + 1;
        case Loss::kl_div_log_target: {
            const V y = math::exp(t);
            if (y == 0) return x != x ? nan : V(0);
            return y * ((t - x) + 1);
        }
        case Loss::focal: {
            const V ratio = m() == 0 ? V(1) : entropy().term() / m();
            const V size = power() == 0 ? V(0) : power() * std::fma(p * (1 - 2 * sigma()), ratio, std::fabs(x));
            return x > 0 ? -size : size;
        }
        default:
            return swapped().slope();
        }
    }
};

} // namespace detreduce::reference
