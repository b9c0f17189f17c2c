// What the ops add up: a map of one or two elements, for host and device. A new op is one of these
// and a line in the registry.
//
// Each map says three things. `value` is the term, rounded, as `tree` adds it. `split` is the term
// and its error, as `kahan` and `compensated` add it. `exact` needs the term without any error: as
// numbers (`linear`) or as products of two numbers, times a power of two, one or more `parts` that
// add up to it; finite_part() is for finite elements alone. No part is larger than the elements
// that it is made of, or their product. The term of −0, which stands for what is not there, is a
// zero; it is −0 of Element and Multiply alone, whose sums may be −0.
// V is float or double.
#pragma once

#include <detreduce/config.hpp>
#include <detreduce/fp/bits.hpp>
#include <detreduce/fp/eft.hpp>
#include <detreduce/types.hpp>

namespace detreduce::transforms {

/// factor · a · b without rounding; the factor is a power of two. Of linear terms b is 1.
template <class V>
struct Product {
    V a, b, factor;
};

struct Element {
    static constexpr Transform transform = Transform::element;
    static constexpr int inputs = 1, parts = 1;
    static constexpr bool linear = true;
    template <class V>
    static DETREDUCE_HD V value(V x, V) {
        return x;
    }
    template <class V>
    static DETREDUCE_HD fp::Eft<V> split(V x, V) {
        return {x, V(-0.0)};
    }
    template <class V>
    static DETREDUCE_HD Product<V> part(int, V x, V) {
        return {x, 1, 1};
    }
    template <class V>
    static DETREDUCE_HD Product<V> finite_part(int k, V x, V y) {
        return part(k, x, y);
    }
};

struct Magnitude {
    static constexpr Transform transform = Transform::magnitude;
    static constexpr int inputs = 1, parts = 1;
    static constexpr bool linear = true;
    template <class V>
    static DETREDUCE_HD V value(V x, V) {
#if defined(__CUDA_ARCH__)
        return fp::is_f32<V> ? V(::fabsf(static_cast<float>(x))) : V(::fabs(x)); // of operands it costs nothing there
#else
        return fp::from_bits<V>(fp::magnitude_bits(x));
#endif
    }
    template <class V>
    static DETREDUCE_HD fp::Eft<V> split(V x, V y) {
        return {value(x, y), V(-0.0)};
    }
    template <class V>
    static DETREDUCE_HD Product<V> part(int, V x, V y) {
        return {value(x, y), 1, 1};
    }
    template <class V>
    static DETREDUCE_HD Product<V> finite_part(int k, V x, V y) {
        return part(k, x, y);
    }
};

struct Square {
    static constexpr Transform transform = Transform::square;
    static constexpr int inputs = 1, parts = 1;
    static constexpr bool linear = false;
    template <class V>
    static DETREDUCE_HD V value(V x, V) {
        return x * x;
    }
    template <class V>
    static DETREDUCE_HD fp::Eft<V> split(V x, V) {
        return fp::two_prod(x, x);
    }
    template <class V>
    static DETREDUCE_HD Product<V> part(int, V x, V) {
        return {x, x, 1};
    }
    template <class V>
    static DETREDUCE_HD Product<V> finite_part(int k, V x, V y) {
        return part(k, x, y);
    }
};

struct Multiply {
    static constexpr Transform transform = Transform::product;
    static constexpr int inputs = 2, parts = 1;
    static constexpr bool linear = false;
    template <class V>
    static DETREDUCE_HD V value(V x, V y) {
        return x * y;
    }
    template <class V>
    static DETREDUCE_HD fp::Eft<V> split(V x, V y) {
        return fp::two_prod(x, y);
    }
    template <class V>
    static DETREDUCE_HD Product<V> part(int, V x, V y) {
        return {x, y, 1};
    }
    template <class V>
    static DETREDUCE_HD Product<V> finite_part(int k, V x, V y) {
        return part(k, x, y);
    }
};

/// (x − y)²; without error x² − 2xy + y². Where a number is infinite or NaN that would be NaN, so
/// then it is the square of the difference.
struct SquaredDifference {
    static constexpr Transform transform = Transform::squared_difference;
    static constexpr int inputs = 2, parts = 3;
    static constexpr bool linear = false;
    template <class V>
    static DETREDUCE_HD V value(V x, V y) {
        const V d = x - y;
        return d * d;
    }
    /// With d + δ = x − y: d² + 2dδ; δ² is below what the error keeps.
    template <class V>
    static DETREDUCE_HD fp::Eft<V> split(V x, V y) {
        const auto d = fp::two_sum(x, -y);
        const auto p = fp::two_prod(d.value, d.value);
        return {p.value, p.error + (d.value + d.value) * d.error};
    }
    template <class V>
    static DETREDUCE_HD Product<V> part(int k, V x, V y) {
        if (!fp::is_finite(x) || !fp::is_finite(y)) {
            const V d = k == 0 ? x - y : V(0);
            return {d, d, 1};
        }
        return finite_part(k, x, y);
    }
    template <class V>
    static DETREDUCE_HD Product<V> finite_part(int k, V x, V y) {
        return k == 0 ? Product<V>{x, x, 1} : k == 1 ? Product<V>{y, y, 1} : Product<V>{x, y, -2};
    }
};

/// |x − y| is x − y or y − x, without error.
struct AbsoluteDifference {
    static constexpr Transform transform = Transform::absolute_difference;
    static constexpr int inputs = 2, parts = 2;
    static constexpr bool linear = true;
    template <class V>
    static DETREDUCE_HD V value(V x, V y) {
        return Magnitude::value(x - y, y);
    }
    template <class V>
    static DETREDUCE_HD fp::Eft<V> split(V x, V y) {
        const auto d = fp::two_sum(x, -y);
        return {Magnitude::value(d.value, d.value), fp::is_negative(d.value) ? -d.error : d.error};
    }
    template <class V>
    static DETREDUCE_HD Product<V> part(int k, V x, V y) {
        if (!fp::is_finite(x) || !fp::is_finite(y)) return {k == 0 ? value(x, y) : V(0), 1, 1};
        return finite_part(k, x, y);
    }
    template <class V>
    static DETREDUCE_HD Product<V> finite_part(int k, V x, V y) {
        const bool swapped = x < y;
        return {k == 0 ? (swapped ? y : x) : (swapped ? -x : -y), 1, 1};
    }
};

/// f(Map{}) for the map of `term`.
template <class F>
constexpr decltype(auto) with_term(Transform term, const F& f) {
    switch (term) {
    case Transform::magnitude:
        return f(Magnitude{});
    case Transform::square:
        return f(Square{});
    case Transform::product:
        return f(Multiply{});
    case Transform::squared_difference:
        return f(SquaredDifference{});
    case Transform::absolute_difference:
        return f(AbsoluteDifference{});
    case Transform::element:
        break;
    }
    return f(Element{});
}

} // namespace detreduce::transforms
