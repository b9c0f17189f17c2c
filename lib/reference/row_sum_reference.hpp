// lib/SPEC.md, sections 17.1 and 17.2, evaluated naively: sums of exponentials and norms of a row,
// one element after the other, with the constants as the text's headers have them, typed again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <detreduce/math/exp.hpp>
#include <detreduce/row_ops.hpp>

#include "moments_reference.hpp"
#include "order_reference.hpp"

namespace detreduce::reference {

/// The numbers that section 17 takes from spec/exp_term.hpp and math/, for elements that are added
/// in V.
template <class V>
struct RowNumbers;
template <>
struct RowNumbers<float> {
    static constexpr int offset = 64, minimum_exponent = -189, most = 126, minimum_square = -96;
    static constexpr float shifter = 0x1.8p+23f;
    static constexpr float log2_e = 0x1.715476p+0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
    static constexpr float root_half = 0x1.6a09e6p-1f, tiny = 0x1p-30f;
    static constexpr int reciprocal_steps = 1;
    static constexpr float term[] = {
        2, 2, 0x1.fffffcp-1f, 0x1.55548cp-2f, 0x1.555858p-4f, 0x1.123de0p-6f, 0x1.6ac74ap-9f};
    static constexpr float steps_log2_e = 0x1.715476p+5f, step_ln2 = 0x1.62e43p-6f;
    static constexpr float step_term[] = {1, 0x1.00010cp+0f, 0x1.00019p-1f};
    static constexpr float log[] = {0x1.55557ap-1f, 0x1.995ed8p-2f, 0x1.31e036p-2f};
};
template <>
struct RowNumbers<double> {
    static constexpr int offset = 512, minimum_exponent = -1533, most = 1022, minimum_square = -900;
    static constexpr double shifter = 0x1.8p+52;
    static constexpr double log2_e = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42fefa38p-1,
                            ln2_low = 0x1.ef35793c7673p-45;
    static constexpr double root_half = 0x1.6a09e667f3bcdp-1, tiny = 0x1p-60;
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

/// 17.1, steps 3 and 4: e^z relative to a power of two, as y·σ.
template <class T>
struct Exponential {
    using V = Sum<T>;
    using N = RowNumbers<V>;
    V y;
    int k, steps = 0; ///< of elements of 16 bits

    explicit Exponential(V z) {
        const V whole = std::fma(z, N::log2_e, N::shifter) - N::shifter;
        k = static_cast<int>(whole);
        if constexpr (fp::is_narrow<T>) {
            const V of_32 = std::fma(z, N::steps_log2_e, N::shifter) - N::shifter;
            y = poly<V>(std::fma(of_32, -N::step_ln2, z), N::step_term);
            steps = static_cast<int>(of_32);
        } else {
            y = poly<V>(std::fma(whole, -N::ln2_low, std::fma(whole, -N::ln2_high, z)), N::term);
        }
    }
    [[nodiscard]] V scale(int K) const {
        if constexpr (fp::is_narrow<T>) {
            const int q = steps - 32 * K + 32 * (N::offset + 127);
            if (q <= 0) return 0;
            const int s = (q + 16) % 32 - 16;
            const V twice = poly<V>(static_cast<V>(s) * N::step_ln2, N::term); // 2·2^(s / 32)
            if (q >= 32) return std::ldexp(twice, (q - s) / 32 - 128);
            return std::ldexp(s < 0 ? twice - 1 : twice / 2 - 1, -126); // what is subnormal lacks the 1
        }
        return k - K >= N::minimum_exponent ? std::ldexp(V(1), k - K + N::offset - 1) : 0;
    }
    [[nodiscard]] V term(int K) const { return y * scale(K); }
    [[nodiscard]] V peak() const { return term(k); }
};

/// Steps 5 and 6.
template <class T>
struct RowState {
    using V = Sum<T>;
    V g, s;

    [[nodiscard]] static V scaled(V v, int delta) {
        constexpr int most = RowNumbers<V>::most;
        if (delta <= most) return v * std::ldexp(V(1), -delta);
        return delta <= 2 * most ? (v * std::ldexp(V(1), -most)) * std::ldexp(V(1), most - delta) : 0;
    }
    [[nodiscard]] static RowState merged(RowState a, RowState b) {
        if (b.g > a.g) std::swap(a, b);
        const Exponential<T> high(a.g), low(b.g);
        return {a.g, a.s + scaled(b.s + low.peak(), high.k - low.k)};
    }
};

/// Step 7.
template <class T>
RowState<T> chunk_state(std::span<const Sum<T>> z) {
    using V = Sum<T>;
    const V g = *std::max_element(z.begin(), z.end());
    const int K = Exponential<T>(g).k;
    const auto first = static_cast<std::size_t>(std::find(z.begin(), z.end(), g) - z.begin());
    std::vector<V> lanes(lanes_of(sizeof(T)));
    for (std::size_t i = 0; i < z.size(); ++i) {
        const Exponential<T> e(z[i]);
        V& lane = lanes[i % lanes.size()];
        if (i != first) lane = std::fma(e.y, e.scale(K), lane);
    }
    for (std::size_t half = lanes.size() / 2; half >= 1; half /= 2) {
        for (std::size_t j = 0; j < half; ++j)
            lanes[j] = lanes[j] + lanes[j + half];
    }
    return {g, lanes[0]};
}
/// Step 8.
template <class T>
RowState<T> tile_state(std::span<const Sum<T>> z) {
    std::vector<RowState<T>> c;
    const std::size_t items = 8 * lanes_of(sizeof(T));
    for (std::size_t begin = 0; begin < z.size(); begin += items)
        c.push_back(chunk_state<T>(z.subspan(begin, std::min(items, z.size() - begin))));
    for (std::size_t step = 1; step < 8; step *= 2) {
        for (std::size_t i = 0; i + step < c.size(); i += 2 * step)
            c[i] = RowState<T>::merged(c[i], c[i + step]);
    }
    return c[0];
}
/// Step 9: one level of section 3, with merging for addition.
template <class T>
std::vector<RowState<T>> level_above(const std::vector<RowState<T>>& items) {
    const std::size_t lanes = lanes_of(sizeof(Sum<T>)), tile = 64 * lanes;
    using Item = std::optional<RowState<T>>;
    const auto merged = [](const Item& a, const Item& b) {
        return a && b ? Item(RowState<T>::merged(*a, *b)) : a ? a : b;
    };
    std::vector<RowState<T>> above;
    for (std::size_t begin = 0; begin < items.size(); begin += tile) {
        std::vector<Item> all(lanes);
        for (std::size_t j = 0; j < lanes; ++j) {
            Item chunk[8];
            for (std::size_t row = 0; row < 64; ++row) {
                const std::size_t i = begin + row * lanes + j;
                if (row * lanes + j < tile && i < items.size()) chunk[row / 8] = merged(chunk[row / 8], items[i]);
            }
            all[j] = merged(merged(merged(chunk[0], chunk[1]), merged(chunk[2], chunk[3])),
                            merged(merged(chunk[4], chunk[5]), merged(chunk[6], chunk[7])));
        }
        for (std::size_t half = lanes / 2; half >= 1; half /= 2) {
            for (std::size_t j = 0; j < half; ++j)
                all[j] = merged(all[j], all[j + half]);
        }
        above.push_back(*all[0]);
    }
    return above;
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
    std::span<const T> x, scale, shift, weights, probabilities, upstream = {};
    std::int64_t target = 0, ignore_index = -100;
    double smoothing = 0, epsilon = 0, z_loss = 0;
    std::optional<Sum<T>> factor = {};
    Sum<T> mean = 0, rstd = 0; ///< what a gradient is told of its row
};
template <class Out, class V>
struct RowOutput {
    std::vector<Out> out;
    V mean{}, rstd{}, weight{};
    V exp_sums[2]{};
};

/// 14.2: `log1p` of a number that is not negative.
template <class V>
V log1p_of(V x) {
    using N = RowNumbers<V>;
    if (x < N::tiny) return x;
    const V u = 1 + x, from_x = u - 1, from_1 = u - from_x, upsilon = (1 - from_1) + (x - from_x); // TwoSum
    int exponent = 0;
    V part = std::frexp(u, &exponent);
    if (part < N::root_half) {
        part *= 2;
        --exponent;
    }
    const V k = static_cast<V>(exponent), m1 = part - 1, rest = exponent < 64 ? std::ldexp(upsilon, -exponent) : V(0);
    const V f = m1 + rest, phi = rest - (f - m1), d = 2 + f; // Dekker
    V r = poly<V>(d, std::vector<V>{V(0x1.7a4e36p+0f), V(-0x1.71e41cp-1f), V(0x1.deab4ep-4f)});
    for (int i = 0; i < N::reciprocal_steps; ++i) {
        const V e = std::fma(-d, r, V(1));
        r = std::fma(r, std::fma(e, e, e), r);
    }
    const V step = f * r, z = step * step, g = f * f, gamma = std::fma(f, f, -g), half = V(0.5);
    const V a = std::fma(-half, g, f), lambda = std::fma(-half, gamma, std::fma(-half, g, f - a));
    const V m = std::fma(phi, std::fma(-2 * step, 1 - step, V(1)),
                         std::fma(step, std::fma(z, poly<V>(z, N::log), g / 2), lambda));
    const V high = std::fma(k, N::ln2_high, a);
    return high + ((a + std::fma(k, N::ln2_high, -high)) + std::fma(k, N::ln2_low, m));
}

/// 17.1.
template <class T>
struct RowSum {
    using V = Sum<T>;
    using N = RowNumbers<V>;
    bool exists = false;
    V m = infinity_of<V>(true);
    V origin = 0, s = 0, q = 0, L = 0;
    int K = 0;

    explicit RowSum(std::span<const T> x) {
        if (!x.empty()) m = order<V>(Op::max, x, NanPolicy::propagate);
        if (!is_number(m)) return;
        exists = true;
        origin = std::fabs(m) <= 32768 ? V(0) : m;
        const std::size_t tile = 64 * lanes_of(sizeof(T));
        std::vector<V> z;
        for (const T v : x)
            z.push_back(argument(v));
        std::vector<RowState<T>> states;
        for (std::size_t begin = 0; begin < z.size(); begin += tile)
            states.push_back(tile_state<T>(std::span<const V>(z).subspan(begin, std::min(tile, z.size() - begin))));
        while (states.size() > 1)
            states = level_above(states);
        const Exponential<T> peak(states[0].g);
        s = states[0].s;
        K = peak.k;
        q = 1 / (s + peak.peak());
        L = log1p_of<V>(s / peak.peak());
    }
    [[nodiscard]] V argument(T x) const { return std::max(static_cast<V>(value_of(x)) - origin, V(-36864)); }
    [[nodiscard]] V softmax(T x) const { return exists ? Exponential<T>(argument(x)).term(K) * q : canonical_nan<V>(); }
    [[nodiscard]] V log_softmax(T x) const {
        return exists ? (static_cast<V>(value_of(x)) - m) - L : canonical_nan<V>();
    }
    /// u.
    [[nodiscard]] V loss(T x) const { return exists ? (m - static_cast<V>(value_of(x))) + L : canonical_nan<V>(); }
    [[nodiscard]] bool is_maximum(T x) const { return exists && static_cast<V>(value_of(x)) == m; }
    [[nodiscard]] V rest() const { return s * q; }
    [[nodiscard]] V logsumexp() const { return exists ? m + L : m; }
    /// What is kept for gradients.
    void keep(V (&kept)[2]) const {
        kept[0] = m == m ? m + 0 : canonical_nan<V>();
        kept[1] = exists ? s + 0 : canonical_nan<V>();
    }
};

/// v·2^e.
template <class V>
V in_two_steps(V v, int e) {
    const int first = e <= 0 ? -(-e / 2) : (e + 1) / 2; // −⌊−e / 2⌋, of −e ≥ 0 and less
    const auto power = [](int k) {
        return k < 1 - std::numeric_limits<V>::max_exponent + 1 ? V(0) : std::ldexp(V(1), k);
    };
    return (v * power(first)) * power(e - first);
}

/// 17.2: a row whose squares overflow or underflow. The e that it is scaled by, 0 where it is not.
template <class Out, class T>
int scaled_row(RowOp op, const RowInput<T>& in, Sum<T>& mean, Sum<T>& rstd, RowOutput<Out, Sum<T>>& result) {
    using V = Sum<T>;
    const auto n = static_cast<double>(in.x.size());
    V a = 0;
    for (const T v : in.x) {
        const V size = std::fabs(static_cast<V>(value_of(v)));
        if (!(size <= a)) a = a != a ? a : size;
    }
    if (!(a > 0 && std::isfinite(a))) return 0;
    const double most = std::max(static_cast<double>(a), std::sqrt(in.epsilon));
    const int e = std::max(std::ilogb(most), -1022);
    std::vector<V> x, d, squares;
    for (const T v : in.x)
        x.push_back(in_two_steps(static_cast<V>(value_of(v)), -e));
    V origin = 0, more = 0;
    if (op == RowOp::layernorm) origin = nearest<V>(static_cast<double>(tree_of_terms<T>(x)) / n);
    for (const V v : x) {
        d.push_back(v - origin);
        squares.push_back(d.back() * d.back());
    }
    const double Q = static_cast<double>(tree_of_terms<T>(squares));
    double v = Q / n;
    mean = 0;
    if (op == RowOp::layernorm) {
        more = tree_of_terms<T>(d);
        mean = nearest<V>(static_cast<double>(origin) + static_cast<double>(more) / n);
        const double squared = static_cast<double>(more) * static_cast<double>(more);
        v = std::max((Q - squared / n) / n, 0.0);
    }
    const double epsilon = in_two_steps(in_two_steps(in.epsilon, -e), -e), w = 1 / std::sqrt(v + epsilon);
    rstd = nearest<V>(w);
    if (in.epsilon > 0 && !std::isfinite(rstd)) rstd = std::numeric_limits<V>::max();
    result.mean = mean == 0 ? mean : in_two_steps(mean, e);
    result.rstd = nearest<V>(in_two_steps(w, -e));
    return e;
}

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
    V mean = result.mean, rstd = result.rstd;
    int e = 0;
    if (!(std::isfinite(v) && v + in.epsilon >= std::ldexp(1.0, RowNumbers<V>::minimum_square)))
        e = scaled_row(op, in, mean, rstd, result);
    for (std::size_t i = 0; i < n; ++i) {
        const V z = (in_two_steps(static_cast<V>(value_of(in.x[i])), -e) - mean) * rstd;
        const V scale = in.scale.empty() ? V(1) : static_cast<V>(value_of(in.scale[i]));
        const V shift = in.shift.empty() ? V(0) : static_cast<V>(value_of(in.shift[i]));
        result.out.push_back(stored<Out>(in.scale.empty()   ? z
                                         : in.shift.empty() ? z * scale
                                                            : std::fma(z, scale, shift)));
    }
    return result;
}

} // namespace detreduce::reference
