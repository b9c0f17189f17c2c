// Inputs that are hard on `exact`: what makes its windows move, its bins overflow, its carries run,
// and its special cases meet.
#pragma once

#include <cstdint>
#include <vector>

#include <support/bits.hpp>

namespace detreduce::proptests {

enum class Extreme : std::uint8_t {
    overflow_on_the_way, ///< the largest numbers, first one sign and then the other
    whole_range,         ///< ± the same number at every exponent, shuffled, and a little left over
    near_overflow,       ///< the top eight binades
    subnormal,           ///< subnormals of both signs
    minus_zeros,         ///< −0 only
    minus_zeros_but_one, ///< −0, and one +0 or the smallest number
    outlier,             ///< numbers near 1, and one as large or as small as there is
    nonfinite,           ///< numbers near 1, and one to three infinities and NaNs
    drifting,            ///< exponents near each other, and every few hundred elements elsewhere
    climbing,            ///< one sign, mantissas of all ones, and one binade more every 1000 elements
    powers,              ///< one power of two, with one sign: sums like −2^32k
    full,                ///< every bit pattern
};
inline constexpr int extremes = 12;

namespace detail {

using accuracy::hash;

/// Random sign and fraction.
template <class T>
T with_exponent(int exponent, std::uint64_t word) {
    return from_fields<T>({(word >> 63) != 0, exponent, hash(word, 1)});
}
inline int between(int low, int high, std::uint64_t word) {
    return low + static_cast<int>(word % static_cast<std::uint64_t>(high - low + 1));
}
template <class T>
int any_exponent(std::uint64_t word) {
    return between(1 - largest_exponent<T>, largest_exponent<T>, word);
}

template <class T>
T extreme_element(Extreme kind, std::size_t i, std::size_t n, std::uint64_t seed) {
    constexpr int top = largest_exponent<T>, bottom = 1 - top;
    const std::uint64_t word = hash(seed, i + 100);
    switch (kind) {
    case Extreme::overflow_on_the_way:
        return from_fields<T>({i < n / 2, top - static_cast<int>(word % 2), hash(word, 1)});
    case Extreme::whole_range: {
        const auto step = static_cast<int>(i / 2 % static_cast<std::size_t>(2 * top));
        const T x = with_exponent<T>(bottom + step, hash(seed, i / 2 + 100));
        return i % 2 != 0 ? fp::negated(x) : x;
    }
    case Extreme::near_overflow:
        return with_exponent<T>(between(top - 7, top, word), word);
    case Extreme::subnormal:
        return with_exponent<T>(-top, word);
    case Extreme::minus_zeros:
    case Extreme::minus_zeros_but_one:
        return number<T>(-0.0);
    case Extreme::outlier:
    case Extreme::nonfinite:
        return with_exponent<T>(between(-3, 3, word), word);
    case Extreme::drifting:
        return with_exponent<T>(std::clamp(any_exponent<T>(hash(seed, i / 300)) + between(-3, 3, word), bottom, top),
                                word);
    case Extreme::climbing: {
        const int start =
            between(bottom, top - 5, hash(seed, 0) % 3 == 0 ? hash(seed, 1) : static_cast<std::uint64_t>(3 - bottom));
        return from_fields<T>({(seed & 1) != 0, std::min(start + static_cast<int>(i / 1000), top), ~std::uint64_t{0}});
    }
    case Extreme::powers:
        return from_fields<T>({(seed & 1) != 0, any_exponent<T>(hash(seed, 0)), 0});
    case Extreme::full:
        return fp::from_bits<T>(static_cast<fp::Bits<T>>(word));
    }
    return T{};
}

} // namespace detail

/// n elements, a function of the arguments.
template <class T>
std::vector<T> extreme(Extreme kind, std::size_t n, std::uint64_t seed) {
    using accuracy::hash;
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = detail::extreme_element<T>(kind, i, n, seed);
    const auto put = [&](T value, std::uint64_t word) {
        if (n > 0) x[hash(word, 5) % n] = value;
    };
    if (kind == Extreme::whole_range) accuracy::shuffle(std::span<T>(x), seed);
    if (kind == Extreme::minus_zeros_but_one) put(seed % 2 ? T{} : smallest<T>, seed);
    if (kind == Extreme::outlier)
        put(seed % 4 == 0 ? smallest<T>
            : seed % 2    ? largest<T>
                          : number<T>(largest_exponent<T> > 100 ? -0x1p100 : -0x1p10),
            seed);
    if (kind == Extreme::nonfinite) {
        for (std::uint64_t k = 0; k <= seed % 3; ++k) {
            const std::uint64_t word = hash(seed, k);
            const std::uint64_t payload = word % 4 == 0 ? hash(word, 2) | 1 : 0;
            put(from_fields<T>({word / 4 % 2 != 0, largest_exponent<T> + 1, payload}), word);
        }
    }
    return x;
}

} // namespace detreduce::proptests
