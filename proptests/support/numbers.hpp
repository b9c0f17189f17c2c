// Single numbers for properties: drawn by bits, shrunk in sign, exponent and mantissa, shown in
// hexadecimal. RapidCheck's own arbitrary<double> never gives NaN, infinities, −0 or subnormals.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ostream>
#include <vector>

#include <rapidcheck.h>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/fp/bits.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::proptests {

// Formats of 16 bits have neither arithmetic nor std::numeric_limits: these words serve every
// format.

/// The number nearest to x.
template <class T>
[[nodiscard]] constexpr T number(double x) {
    return fp::round_to<T>(x);
}
template <class T>
inline constexpr T infinity = fp::beyond<T>(false);
template <class T>
inline constexpr T quiet_nan = fp::from_bits<T>(fp::Format<T>::canonical_nan);
template <class T>
inline constexpr T largest = fp::from_bits<T>(fp::Format<T>::largest);
template <class T>
inline constexpr T smallest = fp::from_bits<T>(1); ///< subnormal
template <class T>
inline constexpr T smallest_normal = fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::Bits<T>{1}
                                                                               << (fp::Format<T>::precision - 1)));
template <class T>
[[nodiscard]] constexpr T magnitude(T x) {
    return fp::from_bits<T>(fp::magnitude_bits(x));
}
template <class T>
[[nodiscard]] constexpr bool is_zero(T x) {
    return fp::magnitude_bits(x) == 0;
}
/// The next number above x, which must not be NaN or +inf; above −0 as above +0.
template <class T>
[[nodiscard]] constexpr T next_up(T x) {
    if (is_zero(x)) return smallest<T>;
    return fp::from_bits<T>(static_cast<fp::Bits<T>>(fp::to_bits(x) + (fp::is_negative(x) ? -1 : 1)));
}
template <class T>
[[nodiscard]] constexpr T next_down(T x) {
    return fp::negated(next_up(fp::negated(x)));
}

/// Which numbers may occur: zeros of both signs, normal numbers with exponents in [lowest,
/// highest], and more where asked.
struct Scope {
    int lowest, highest; ///< exponents e of 1.f·2^e, lowest ≤ highest
    bool subnormal, nonfinite;
};

template <class T>
inline constexpr int largest_exponent = fp::Format<T>::max_exponent;

/// Every bit pattern. Sums may overflow.
template <class T>
inline constexpr Scope any_bits{1 - largest_exponent<T>, largest_exponent<T>, true, true};
/// Every finite number. Sums may overflow.
template <class T>
inline constexpr Scope finite_bits{1 - largest_exponent<T>, largest_exponent<T>, true, false};
/// Finite, and no sum of fewer than 2^63 of them overflows the format in which it is made,
/// fp::Arithmetic<T>. For float16, whose sums are made in float, that is every finite number;
/// rounded to float16 such a sum may be infinite.
template <class T>
inline constexpr Scope no_overflow{1 - largest_exponent<T>, largest_exponent<T> - 64, true, false};
template <>
inline constexpr Scope no_overflow<float16> = finite_bits<float16>;

/// Numbers may be multiplied by 2^±scale_exponent and stay exact, where they are `scalable`.
template <class T>
inline constexpr int scale_exponent = 30;
template <>
inline constexpr int scale_exponent<float16> = 2;
/// Finite, and neither sums nor their products with 2^±scale_exponent overflow T or reach its
/// subnormals (a sum of normal numbers of exponent ≥ e has no bit below 2^(e−precision+1)).
template <class T>
inline constexpr Scope scalable{-(largest_exponent<T> - scale_exponent<T> - 1 - fp::Format<T>::precision),
                                largest_exponent<T> - 64 - scale_exponent<T> - 1, false, false};
/// float16 has room for sums of fewer than 2^17 elements only, 2^(17−5+1+2) being its largest power
/// of two. They may reach the subnormals, where they are exact: all are multiples of 2^(−12−10−2),
/// the smallest one.
template <>
inline constexpr Scope scalable<float16>{-12, -5, false, false};

/// Fields of a number. `exponent` runs from −largest (zero, subnormal) to largest + 1 (infinity,
/// NaN).
struct Fields {
    bool negative;
    int exponent;
    std::uint64_t fraction;
};
template <class T>
[[nodiscard]] constexpr Fields fields(T x) {
    constexpr int width = fp::Format<T>::precision - 1;
    const std::uint64_t bits = fp::to_bits(x);
    const std::uint64_t exponent_mask = (std::uint64_t{1} << (8 * sizeof(T) - 1 - width)) - 1;
    return {fp::is_negative(x), static_cast<int>(bits >> width & exponent_mask) - largest_exponent<T>,
            bits & ((std::uint64_t{1} << width) - 1)};
}
template <class T>
[[nodiscard]] constexpr T from_fields(Fields f) {
    constexpr int width = fp::Format<T>::precision - 1;
    using Bits = fp::Bits<T>;
    const std::uint64_t fraction = f.fraction & ((std::uint64_t{1} << width) - 1);
    const std::uint64_t sign = f.negative ? fp::sign_mask<T> : 0;
    return fp::from_bits<T>(
        static_cast<Bits>(sign | static_cast<std::uint64_t>(f.exponent + largest_exponent<T>) << width | fraction));
}

template <class T>
[[nodiscard]] constexpr bool in_scope(T x, const Scope& scope) {
    const Fields f = fields(x);
    if (f.exponent > largest_exponent<T>) return scope.nonfinite;
    if (f.exponent == -largest_exponent<T>) return f.fraction == 0 || scope.subnormal;
    return f.exponent >= scope.lowest && f.exponent <= scope.highest;
}

/// x if it is in scope; else the same sign and fraction with an exponent wrapped into the scope.
template <class T>
[[nodiscard]] constexpr T fit(T x, const Scope& scope) {
    if (in_scope(x, scope)) return x;
    Fields f = fields(x);
    const int span = scope.highest - scope.lowest + 1;
    f.exponent = scope.lowest + ((f.exponent - scope.lowest) % span + span) % span;
    return from_fields<T>(f);
}

/// A number of the scope from 64 random bits: 2 in 16 special values, 2 in 16 boundary mantissas, 1
/// in 16 subnormal; otherwise exponents equally likely, either over the whole scope or within ±8,
/// with random, short or sparse mantissas.
template <class T>
[[nodiscard]] T number_from(std::uint64_t word, const Scope& scope);

/// Numbers that are simpler than x and in scope, the simplest first: 0, 1, a finite one, a positive
/// one, exponents nearer to 0, shorter mantissas.
template <class T>
[[nodiscard]] std::vector<T> simpler(T x, const Scope& scope);

/// %a, and the bits of a NaN.
template <class T>
[[nodiscard]] std::string hexadecimal(T x) {
    char text[64];
    if (fp::is_nan(x))
        std::snprintf(text, sizeof text, "nan:0x%llx", static_cast<unsigned long long>(fp::to_bits(x)));
    else
        std::snprintf(text, sizeof text, "%a", static_cast<double>(fp::widen(x)));
    return text;
}

/// A number as an argument of a property.
template <class T>
struct Value {
    T x;
    operator T() const { return x; }
};
template <class T>
void showValue(const Value<T>& value, std::ostream& os) {
    os << hexadecimal(value.x);
}

template <class T>
[[nodiscard]] rc::Gen<Value<T>> value(const Scope& scope) {
    return rc::Gen<Value<T>>([scope](const rc::Random& random, int) {
        const auto shrink = [scope](const Value<T>& v) {
            std::vector<Value<T>> candidates;
            for (const T x : simpler(v.x, scope))
                candidates.push_back({x});
            return rc::seq::fromContainer(std::move(candidates));
        };
        return rc::shrinkable::shrinkRecur(Value<T>{number_from<T>(rc::Random(random).next(), scope)}, shrink);
    });
}

} // namespace detreduce::proptests

namespace rc {
template <class T>
struct Arbitrary<detreduce::proptests::Value<T>> {
    static Gen<detreduce::proptests::Value<T>> arbitrary() {
        return detreduce::proptests::value<T>(detreduce::proptests::any_bits<T>);
    }
};
} // namespace rc
