// Building blocks of the generators: random bits to numbers, exactly.
#pragma once

#include <cstdint>

#include <detreduce/accuracy/generators.hpp>
#include <detreduce/fp/bits.hpp>
#include <detreduce/fp/convert.hpp>

namespace detreduce::accuracy {

template <class T>
inline constexpr int precision = fp::Format<T>::precision;
template <class T>
inline constexpr int smallest_normal_exponent = 1 - fp::Format<T>::bias;
/// The highest exponent of which every number is finite.
template <class T>
inline constexpr int highest_exponent = fp::Format<T>::max_exponent - (fp::Format<T>::has_inf ? 0 : 1);

/// ±mantissa·2^(exponent − precision + 1) of a normal number: `fraction` are the bits below the
/// hidden one.
template <class T>
[[nodiscard]] constexpr T compose(bool negative, int exponent, std::uint64_t fraction) noexcept {
    const auto field = static_cast<std::uint64_t>(exponent + fp::Format<T>::bias) << (precision<T> - 1);
    const std::uint64_t mask = (std::uint64_t{1} << (precision<T> - 1)) - 1;
    return fp::from_bits<T>(static_cast<fp::Bits<T>>((negative ? fp::sign_mask<T> : 0) | field | (fraction & mask)));
}

/// 2^exponent, exponent in the normal range.
template <class T>
[[nodiscard]] constexpr T power_of_two(int exponent) noexcept {
    return compose<T>(false, exponent, 0);
}

/// Uniform in [−1, 1), exactly: a signed integer of precision + 1 bits, scaled. One bit fewer would
/// leave every last bit of a number above 1/2 zero, and f64 sums of such numbers would hardly
/// round.
template <class T>
[[nodiscard]] constexpr T uniform(std::uint64_t bits) noexcept {
    using A = fp::Arithmetic<T>;
    const auto k = static_cast<std::int64_t>(bits) >> (63 - precision<T>);
    return fp::round_to<T>(static_cast<A>(k) * power_of_two<A>(-precision<T>)); // exact
}

/// An integer in 0 … n−1, n ≥ 1.
[[nodiscard]] constexpr int below(std::uint64_t bits, int n) noexcept {
    return static_cast<int>((bits >> 32) % static_cast<std::uint64_t>(n));
}

template <class T>
[[nodiscard]] std::vector<T> ill_conditioned(std::size_t n, std::uint64_t seed, double condition);

} // namespace detreduce::accuracy
