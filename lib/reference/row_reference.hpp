// lib/SPEC.md, section 17, evaluated naively: row ops, one element after the other, with the constants as the text's headers have them, typed again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <detreduce/row_ops.hpp>

#include "moments_reference.hpp"
#include "order_reference.hpp"

namespace detreduce::reference {

/// The numbers that section 17 takes from spec/exp_term.hpp and math/, for elements that are added in V.
template <class V>
struct RowNumbers;
template <>
struct RowNumbers<float> {
    static constexpr float lowest = -87, highest = 88, least_k = -126, shifter = 0x1.8p+23f + 126;
    static constexpr float log2_e = 0x1.715476p+0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
    static constexpr float ln2 = 0x1.62e430p-1f, root_half = 0x1.6a09e6p-1f;
    static constexpr float least_sum = 0x1p-24f, greatest_sum = 0x1p+64f;
    static constexpr int reciprocal_steps = 1;
    static constexpr float term[] = {
        2, 2, 0x1.fffffcp-1f, 0x1.55548cp-2f, 0x1.555858p-4f, 0x1.123de0p-6f, 0x1.6ac74ap-9f};
    static constexpr float narrow_term[] = {2, 2, 0x1.fffdfcp-1f, 0x1.5557aep-2f, 0x1.572a1ep-4f, 0x1.106274p-6f};
    static constexpr float log[] = {0x1.55557ap-1f, 0x1.995ed8p-2f, 0x1.31e036p-2f};
};
template <>
struct RowNumbers<double> {
    static constexpr double lowest = -708.5, highest = 709, least_k = -1022, shifter = 0x1.8p+52 + 1022;
    static constexpr double log2_e = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42fefa38p-1,
                            ln2_low = 0x1.ef35793c7673p-45;
    static constexpr double root_half = 0x1.6a09e667f3bcdp-1;
    static constexpr double least_sum = 0x1p-24, greatest_sum = 0x1p+512;
    static constexpr int reciprocal_steps = 2;
    static constexpr double term[] = {2.0,
                                      2.0,
                                      0x1.000000000000ap+0,
                                      0x1.55555555554fap-2,
                                      0x1.555555555086ep-4,
                                      0x1.1111111127c3ep-6,
                                      0x1.6c16c1842d9adp-9,
                                      0x1.a01a012a4041cp-12,
                                      0x1.a0199a022dcddp-15,
                                      0x1.71df257731cd7p-18,
                                      0x1.28ad7cc192bccp-21,
                                      0x1.ad7f4ddd4122dp-25};
    static constexpr double log[] = {0x1.5555555555592p-1, 0x1.999999997ff3ap-2, 0x1.24924941de474p-2,
                                     0x1.c71c521778a45p-3, 0x1.74663c2fdd8bep-3, 0x1.39a1fd871d6d9p-3,
                                     0x1.2f02ddff7c71dp-3};
};

/// poly(x; c₀, c₁, …) of section 14.
template <class V>
V poly(V x, std::span<const V> c) {
    V y = c.back();
    for (std::size_t i = c.size() - 1; i-- > 0;)
        y = std::fma(x, y, c[i]);
    return y;
}

/// x rounded once to Out, faster than converted(): there are as many as there are elements.
template <class Out>
Out nearest(double x) {
    using L = Layout<Out>;
    if (!is_number(x)) return converted<Out>(x);
    if (x == 0) return zero_of<Out>(std::signbit(x));
    const int bias = (1 << (L::exponent_bits - 1)) - 1;
    int above = 0;
    (void)std::frexp(x, &above); // |x| < 2^above
    const int exponent = std::max(above - 1, 1 - bias);
    if (exponent > bias) return infinity_of<Out>(std::signbit(x));
    const auto units =
        static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::fabs(x), L::fraction_bits - exponent)));
    const std::uint64_t sign = (std::signbit(x) ? std::uint64_t{1} : 0) << (L::exponent_bits + L::fraction_bits);
    const auto field = static_cast<std::uint64_t>(exponent + bias - 1); // one too small, as in rounded()
    return from_raw<Out>(sign | ((field << L::fraction_bits) + units));
}
/// A result of the row. What is NaN becomes the canonical one.
template <class Out, class V>
Out stored(V x) {
    if constexpr (std::is_same_v<Out, V>) return x == x ? x : canonical_nan<Out>();
    return nearest<Out>(x);
}

/// 17.1: the term of z.
template <class T>
Sum<T> exp_term(Sum<T> z) {
    using V = Sum<T>;
    using N = RowNumbers<V>;
    if (z != z) return z;
    z = std::min(std::max(z, N::lowest), N::highest);
    const V k = std::fma(z, N::log2_e, N::shifter) - N::shifter;
    if (k == N::least_k) return 0;
    V y;
    if constexpr (fp::is_narrow<T>) {
        y = poly<V>(std::fma(k, -N::ln2, z), N::narrow_term);
    } else {
        y = poly<V>(std::fma(k, -N::ln2_low, std::fma(k, -N::ln2_high, z)), N::term);
    }
    return std::ldexp(y, static_cast<int>(k) - 1);
}

/// Section 3, of terms that belong to elements of T.
template <class T>
Sum<T> tree_of_terms(const std::vector<Sum<T>>& terms) {
    std::vector<Plain<Sum<T>>> items;
    for (const Sum<T> t : terms)
        items.push_back({t});
    return tree_of(std::span<const Plain<Sum<T>>>(items), lanes_of(sizeof(T)), lanes_of(sizeof(Sum<T>)), Rows::in_order)
        .sum;
}

/// A row, and what belongs to it. What there is none of is empty.
template <class T>
struct RowInput {
    std::span<const T> x, scale, shift, weights, probabilities;
    std::int64_t target = 0, ignore_index = -100;
    double smoothing = 0, epsilon = 0;
    std::optional<Sum<T>> factor = {};
};
template <class Out, class V>
struct RowOutput {
    std::vector<Out> out;
    V mean{}, rstd{}, weight{};
};

/// 17.1, steps 1 to 3.
template <class T>
struct RowSum {
    using V = Sum<T>;
    using N = RowNumbers<V>;
    bool exists = false;
    V c = 0, s = 0, h = 0, l = 0;

    explicit RowSum(std::span<const T> x) {
        if (x.empty()) {
            c = infinity_of<V>(true);
            return;
        }
        s = sum_of_terms(x);
        if (!(s >= N::least_sum && s <= N::greatest_sum)) {
            c = order<V>(Op::max, x, NanPolicy::propagate);
            if (!is_number(c)) return;
            s = sum_of_terms(x);
        }
        exists = true;
        logarithm();
    }
    [[nodiscard]] V term(T x) const { return exp_term<T>(static_cast<V>(value_of(x)) - c); }
    [[nodiscard]] V log_softmax(T x) const {
        return exists ? ((static_cast<V>(value_of(x)) - c) - h) - l : canonical_nan<V>();
    }
    [[nodiscard]] V softmax(T x) const { return exists ? term(x) * (1 / s) : canonical_nan<V>(); }
    [[nodiscard]] V logsumexp() const {
        if (!exists) return c;
        if (c == 0) return h;
        const V a = c + h, from_h = a - c, from_c = a - from_h; // TwoSum
        const V alpha = (c - from_c) + (h - from_h);
        return a + (alpha + l);
    }

  private:
    [[nodiscard]] V sum_of_terms(std::span<const T> x) const {
        std::vector<V> terms;
        for (const T v : x)
            terms.push_back(term(v));
        return tree_of_terms<T>(terms);
    }
    /// 14.1, step 6.
    void logarithm() {
        int exponent = 0;
        V part = std::frexp(s, &exponent);
        if (part < N::root_half) {
            part *= 2;
            --exponent;
        }
        const V k = static_cast<V>(exponent), f = part - 1, d = 2 + f;
        V r = poly<V>(d, std::vector<V>{V(0x1.7a4e36p+0f), V(-0x1.71e41cp-1f), V(0x1.deab4ep-4f)});
        for (int i = 0; i < N::reciprocal_steps; ++i) {
            const V e = std::fma(-d, r, V(1));
            r = std::fma(r, std::fma(e, e, e), r);
        }
        const V step = f * r, z = step * step, g = f * f, gamma = std::fma(f, f, -g), half = V(0.5);
        const V a = std::fma(-half, g, f), lambda = std::fma(-half, gamma, std::fma(-half, g, f - a));
        const V m = std::fma(V(0), std::fma(-2 * step, 1 - step, V(1)),
                             std::fma(step, std::fma(z, poly<V>(z, N::log), g / 2), lambda));
        const V high = std::fma(k, N::ln2_high, a);
        const V low = (a + std::fma(k, N::ln2_high, -high)) + std::fma(k, N::ln2_low, m);
        h = high + low; // Dekker
        l = low - (h - high);
    }
};

/// 17.2: what is not made of exponentials.
template <class Out, class T>
RowOutput<Out, Sum<T>> normalized(RowOp op, const RowInput<T>& in) {
    using V = Sum<T>;
    RowOutput<Out, V> result;
    const auto n = in.x.size();
    double v = 0;
    if (op == RowOp::layernorm) {
        const auto all = group_of(in.x, Method::tree);
        result.mean = mean_of<V>(all);
        v = variance_of<double>(all, 0, false);
    } else {
        v = static_cast<double>(reduce<V>(Op::sumsq, in.x, std::span<const T>(), Method::tree)) /
            static_cast<double>(n);
    }
    result.rstd = nearest<V>(1 / std::sqrt(v + in.epsilon));
    for (std::size_t i = 0; i < n; ++i) {
        const V z = (static_cast<V>(value_of(in.x[i])) - result.mean) * result.rstd;
        const V scale = in.scale.empty() ? V(1) : static_cast<V>(value_of(in.scale[i]));
        const V shift = in.shift.empty() ? V(0) : static_cast<V>(value_of(in.shift[i]));
        result.out.push_back(stored<Out>(in.scale.empty()   ? z
                                         : in.shift.empty() ? z * scale
                                                            : std::fma(z, scale, shift)));
    }
    return result;
}

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
        const V u = -sum.log_softmax(in.x[j]);
        coefficients.push_back(std::fma(weight, smooth, V(0)));
        losses.push_back(smooth == 0 && u == infinity_of<V>(false) ? V(0) : coefficients[j] * u);
    }
    if (op == RowOp::cross_entropy) return {{stored<Out>(tree_of_terms<T>(losses))}, 0, 0, V(1)};
    const V all = tree_of_terms<T>(coefficients);
    RowOutput<Out, V> result;
    for (std::size_t j = 0; j < n; ++j)
        result.out.push_back(
            stored<Out>(std::fma(sum.softmax(in.x[j]), all, -coefficients[j]) * (in.factor ? *in.factor : V(1))));
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
        losses.push_back(weight(j) * -sum.log_softmax(in.x[j]));
    }
    if (op == RowOp::cross_entropy) {
        const V loss = own * -sum.log_softmax(in.x[y]), part = product(a, loss);
        return {{stored<Out>(b == 0 ? loss : std::fma(b, tree_of_terms<T>(losses), part))}, 0, 0, stored<V>(own)};
    }
    const V all = in.weights.empty() ? nearest<V>(static_cast<double>(n)) : tree_of_terms<T>(weights);
    const V of_own = product(a, own), A = b == 0 ? own : std::fma(b, all, of_own);
    RowOutput<Out, V> result;
    for (std::size_t j = 0; j < n; ++j) {
        const V e = j == y ? own : V(0), of_e = product(a, e), D = b == 0 ? e : std::fma(b, weights[j], of_e);
        result.out.push_back(stored<Out>(std::fma(sum.softmax(in.x[j]), A, -D) * (in.factor ? *in.factor : V(1))));
    }
    return result;
}

template <class Out, class T>
RowOutput<Out, Sum<T>> row(RowOp op, const RowInput<T>& in) {
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
