// What clip_grad_norm() does to one element (lib/SPEC.md, section 16), from one source for host and
// device.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::spec {

/// What elements are multiplied by.
struct ClipFactor {
    double full;    ///< c, for elements of f64
    double rounded; ///< c of 24 significant bits, for the others: their products are exact in binary64
    float single;   ///< the same as a normal number of binary32, or 0 where it is none
    bool clips;     ///< or else nothing is written, and the others mean nothing
};

/// c < 1 of 24 significant bits. Where c is subnormal it has fewer, and whatever it multiplies
/// becomes zero.
[[nodiscard]] DETREDUCE_HD double rounded_to_24_bits(double c) {
    constexpr std::uint64_t dropped = std::uint64_t{1} << 29, half = dropped / 2;
    const std::uint64_t bits = fp::to_bits(c);
    return fp::from_bits<double>((bits + (half - 1) + (bits / dropped & 1)) & ~(dropped - 1));
}

[[nodiscard]] DETREDUCE_HD ClipFactor clip_factor(double norm, double max_norm, double epsilon) {
    const double divisor = norm + epsilon;
    if (divisor == 0) return {0, 0, 0, false};
    const double c = max_norm / divisor;
    if (c >= 1) return {0, 0, 0, false};
    if (!(c > 0)) return {c, c, 0, true}; // 0, and NaN, whose bits are not to be rounded
    const double rounded = rounded_to_24_bits(c);
    return {c, rounded, rounded >= 0x1p-126 ? static_cast<float>(rounded) : 0.0f, true};
}

/// x rounded to odd: an even last bit says that nothing was lost, so that rounding once more, to
/// less than 23 bits, is as rounding x once (Boldo & Melquiond 2008).
[[nodiscard]] DETREDUCE_HD float rounded_to_odd(double x) {
    const float nearest = static_cast<float>(x);
    const double value = static_cast<double>(nearest);
    const std::uint32_t bits = fp::to_bits(nearest);
    const bool keep = value == x || (bits & 1) != 0;
    const bool beyond = fp::magnitude_bits(value) > fp::magnitude_bits(x);
    return fp::from_bits<float>(keep ? bits : beyond ? bits - 1 : bits + 1);
}

/// x to a format of 16 bits, to nearest, ties to even; |x| is not above its largest number.
template <class T>
[[nodiscard]] DETREDUCE_HD T narrowed(float x);
template <>
[[nodiscard]] DETREDUCE_HD bfloat16 narrowed<bfloat16>(float x) {
    const std::uint32_t bits = fp::to_bits(x);
    return fp::from_bits<bfloat16>(static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16));
}
template <>
[[nodiscard]] DETREDUCE_HD float16 narrowed<float16>(float x) {
    const std::uint32_t bits = fp::to_bits(x), magnitude = bits & 0x7fffffffu;
    // Subnormals count units of 2^−24, as numbers from 1/2 to 1 do.
    const std::uint32_t subnormal = fp::to_bits(fp::from_bits<float>(magnitude) + 0.5f) - fp::to_bits(0.5f);
    const std::uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
    const std::uint32_t result = magnitude < (113u << 23) ? subnormal : normal;
    return fp::from_bits<float16>(static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | result));
}

/// x times the factor, of 16 bits, where floats can tell: from 2^−100 on the error of a finite
/// product is a float, too. False where they cannot. For GPUs, where doubles and their conversions
/// are slow.
template <class T>
[[nodiscard]] DETREDUCE_HD bool clipped_by_floats(float x, const ClipFactor& factor, T& result) {
    if (factor.single == 0) return false;
    const float p = x * factor.single, error = fp::fused(x, factor.single, -p);
    const std::uint32_t bits = fp::to_bits(p);
    const bool keep = error == 0 || (bits & 1) != 0;
    const bool short_of = fp::is_negative(error) == fp::is_negative(p);
    const std::uint32_t odd = keep ? bits : short_of ? bits + 1 : bits - 1; // as above
    result = narrowed<T>(fp::from_bits<float>(odd));
    constexpr std::uint32_t from = (127 - 100) << 23;
    return fp::magnitude_bits(p) - from < fp::infinity_bits<float> - from || x == 0; // gradients have many zeros
}

/// x times the factor, rounded once. In round-to-nearest, without flushing of subnormals.
[[nodiscard]] DETREDUCE_HD double clipped(double x, const ClipFactor& factor) {
    return fp::canonical(x * factor.full);
}
[[nodiscard]] DETREDUCE_HD float clipped(float x, const ClipFactor& factor) {
    const float product =
        factor.single != 0 ? x * factor.single : static_cast<float>(static_cast<double>(x) * factor.rounded);
    return fp::canonical(product);
}
template <class T>
[[nodiscard]] DETREDUCE_HD T clipped(T x, const ClipFactor& factor) {
    const float wide = fp::widen(x);
#if defined(__CUDA_ARCH__)
    T result;
    if (clipped_by_floats(wide, factor, result)) return result;
#endif
    const double product = static_cast<double>(wide) * factor.rounded;
    if (fp::is_nan(product)) return fp::from_bits<T>(fp::Format<T>::canonical_nan);
    if (!fp::is_finite(product)) return x; // infinite, as x is
    return narrowed<T>(rounded_to_odd(product));
}

} // namespace detreduce::spec
