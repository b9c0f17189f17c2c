// Accumulator of products (lib/SPEC.md, section 11): a significand and, apart from it, an exponent
// that nothing overflows. Multiplying significands never leaves [1/2, 8), so a product over- or
// underflows where it is rounded to the output, if there, and never on the way.
//
// `compensated` keeps two numbers for the significand, as Graillat (Accurate floating-point product
// and exponentiation, IEEE Trans. Comput. 58, 2009) keeps the errors of TwoProd. There they add up
// beside the product, and what he leaves out grows with n². Here every merge puts both numbers in
// order again (DWTimesDW2 of Joldes, Muller & Popescu, ACM TOMS 44, 2017), so that the error grows
// with n·u² and means something up to 2^40.
//
// The functions have no branches: the CPU backend runs them over arrays of lanes. V is float or
// double.
#pragma once

#include <cstdint>
#include <type_traits>

#include <detreduce/acc/finish.hpp>
#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::acc {

/// (significand + error) · 2^exponent; a zero, an infinity or a NaN is the significand alone.
template <class V>
struct Scaled {
    V significand, error;
    std::make_signed_t<fp::Bits<V>> exponent;
};

/// The field of the exponent, as it is in the bits.
template <class V>
[[nodiscard]] DETREDUCE_HD constexpr fp::Bits<V> exponent_field(V x) {
    return static_cast<fp::Bits<V>>(fp::magnitude_bits(x) >> (fp::Format<V>::precision - 1));
}
/// Neither zero nor subnormal nor infinite nor NaN.
template <class V>
[[nodiscard]] DETREDUCE_HD constexpr bool is_normal(V x) {
    constexpr fp::Bits<V> top = 2 * fp::Format<V>::max_exponent + 1;
    const fp::Bits<V> field = exponent_field(x);
    return field != 0 && field != top;
}

/// 2^exponent, which must be normal.
template <class V>
[[nodiscard]] DETREDUCE_HD constexpr V power_of_two(std::make_signed_t<fp::Bits<V>> exponent) {
    return fp::from_bits<V>(static_cast<fp::Bits<V>>(exponent + fp::Format<V>::max_exponent)
                            << (fp::Format<V>::precision - 1));
}

/// s + e with s in ±[1, 2) if s is normal, else as it is.
template <class V>
[[nodiscard]] DETREDUCE_HD constexpr Scaled<V> normalized(V s, V e) {
    using Exponent = std::make_signed_t<fp::Bits<V>>;
    const auto above = static_cast<Exponent>(static_cast<Exponent>(exponent_field(s)) - fp::Format<V>::max_exponent);
    const Exponent exponent = is_normal(s) ? above : Exponent{0};
    const auto moved = static_cast<fp::Bits<V>>(static_cast<fp::Bits<V>>(exponent)
                                                << (fp::Format<V>::precision - 1)); // modulo 2^width
    const V significand = fp::from_bits<V>(static_cast<fp::Bits<V>>(fp::to_bits(s) - moved));
    // |exponent| is at most 2 where there is an error: see multiplied().
    return {significand, e * power_of_two<V>(e == 0 ? Exponent{0} : static_cast<Exponent>(-exponent)), exponent};
}

/// An element. Subnormals are first made normal, which is exact.
template <class V>
[[nodiscard]] DETREDUCE_HD constexpr Scaled<V> scaled(V x) {
    using Exponent = std::make_signed_t<fp::Bits<V>>;
    const bool tiny = exponent_field(x) == 0;
    Scaled<V> t = normalized<V>(x * (tiny ? V(0x1p64) : V(1)), V{});
    t.exponent = static_cast<Exponent>(t.exponent - (tiny ? Exponent{64} : Exponent{0}));
    return t;
}

/// yes or no, by their bits: whichever is not taken may have been computed in vain, which keeps
/// loops free of branches.
template <class V>
[[nodiscard]] DETREDUCE_HD constexpr V chosen(bool first, V yes, V no) {
    const auto mask = static_cast<fp::Bits<V>>(fp::Bits<V>{0} - static_cast<fp::Bits<V>>(first));
    return fp::from_bits<V>((fp::to_bits(yes) & mask) | (fp::to_bits(no) & ~mask));
}

/// The product of two significands with their errors, in this order, and what their exponents' sum
/// has to grow by.
template <bool Compensated, class V>
[[nodiscard]] DETREDUCE_HD Scaled<V> multiplied(V s1, V e1, V s2, V e2) {
    const V p = s1 * s2;
    if constexpr (!Compensated) {
        return normalized(p, V{});
    } else {
        const V lost = fp::fused(s1, s2, -p);
        const V cross = fp::fused(e1, s2, s1 * e2);
        const auto z = fp::fast_two_sum(p, lost + cross);
        const bool number = is_normal(p); // else p is a zero, an infinity or a NaN, and stays what it is
        return normalized(chosen(number, z.value, p), chosen(number, z.error, V{}));
    }
}

template <class V, bool Compensated>
struct Product {
    static constexpr bool pairwise_rows = Compensated, keeps_errors = Compensated;
    static constexpr bool commutes =
        !Compensated; ///< as acc::Rounded; of errors ε₁·s₂ is rounded in another place than s₁·ε₂
    using Value = V;

    V significand, error; ///< `tree`: the error is zero
    std::int64_t exponent;

    /// Stands for an item that is not there: multiplying by 1 leaves the bits of every other alone.
    [[nodiscard]] static DETREDUCE_HD constexpr Product identity() { return {V(1), V{}, 0}; }
    [[nodiscard]] static DETREDUCE_HD constexpr Product of(V x) {
        const Scaled<V> t = scaled(x);
        return {t.significand, t.error, t.exponent};
    }

    DETREDUCE_HD void add(V x) { merge(of(x)); }
    DETREDUCE_HD void merge(const Product& right) {
        const Scaled<V> t = multiplied<Compensated>(significand, error, right.significand, right.error);
        significand = t.significand;
        error = t.error;
        exponent += right.exponent + t.exponent;
    }
};

template <class Acc>
inline constexpr bool is_product = false;
template <class V, bool Compensated>
inline constexpr bool is_product<Product<V, Compensated>> = true;

/// significand · 2^exponent of 63 or 64 bits, which round_significand() rounds once to any format,
/// also to a subnormal number of it; more: there is something below. Of a zero, an infinity or a
/// NaN there is but `special`.
struct FinishedProduct {
    double special;
    bool is_special, negative, more;
    int exponent;
    std::uint64_t significand;

    template <class T>
    [[nodiscard]] DETREDUCE_HD T as() const {
        return is_special ? fp::round_to<T>(special) : fp::round_significand<T>(negative, significand, exponent, more);
    }
};

template <class V, bool Compensated>
[[nodiscard]] DETREDUCE_HD FinishedProduct finished(const Product<V, Compensated>& product) {
    if (!is_normal(product.significand)) return {static_cast<double>(product.significand), true, false, false, 0, 0};
    constexpr std::int64_t most = 1 << 20; // beyond the range of every output
    const std::int64_t e = product.exponent;
    const int exponent = static_cast<int>(e < -most ? -most : e > most ? most : e);
    // s = m · 2^(place − 52) with the 53 bits of m; ten more bits, of what remains, and whether
    // there is anything below them: enough to round once to 53 bits or fewer.
    const auto sum = fp::two_sum(static_cast<double>(product.significand), static_cast<double>(product.error));
    const bool negative = fp::is_negative(sum.value);
    const int place = static_cast<int>(exponent_field(sum.value)) - fp::Format<double>::max_exponent;
    const std::uint64_t hidden = std::uint64_t{1} << 52, m = (fp::to_bits(sum.value) & (hidden - 1)) | hidden;
    const double remaining = (negative ? -sum.error : sum.error) * power_of_two<double>(62 - place);
    auto whole = static_cast<std::int64_t>(remaining);
    if (static_cast<double>(whole) > remaining) --whole; // down, so that what remains is not negative
    const bool more = static_cast<double>(whole) != remaining;
    return {0, false, negative, more, exponent + place - 62, (m << 10) + static_cast<std::uint64_t>(whole)};
}

template <class V, bool Compensated>
DETREDUCE_HD void finish_into(void* out, DType dtype, const Product<V, Compensated>& product) {
    const FinishedProduct result = finished(product);
    store_as(out, dtype, [&](auto t) { return result.as<decltype(t)>(); });
}

} // namespace detreduce::acc
