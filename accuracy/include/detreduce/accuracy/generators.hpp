// Test data: seeded, and the same bits on every platform and for ever (tests keep hashes of them).
// For that, nothing here uses std:: distributions or libm: only integer arithmetic, IEEE +, −,
// ×, ÷ and exact scaling by powers of two.
//
// Element i is a function of (seed, i), or of (seed, i, n) for `sorted`, `nonfinite` and `outlier`;
// only `ill_conditioned` depends on its neighbours.
//
// Formats of 8 and 16 bits: where a family is made of bits or of integers (uniform, constant,
// alternating, subnormal, boundary_mantissas, specials, nonfinite, integers, wide) it is made in
// the format itself; where of real numbers (normal, lognormal, sorted, half_zeros), its elements
// are float's (sorted: double's) rounded once to the format. Nothing is ever rounded to infinity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace detreduce::accuracy {

enum class Family : std::uint8_t {
    uniform,   ///< in [−1, 1), every multiple of 2^−precision equally likely
    normal,    ///< mean 0, variance 1, by Irwin–Hall: a sum of 12 uniforms, so |x| ≤ 6
    lognormal, ///< about exp(σ·normal): 2^y is interpolated linearly between powers of two (at most 6.2 % too large)
    constant,  ///< one number in [1, 2) with a random mantissa, n times
    alternating, ///< +c₀ −c₀ +c₁ −c₁ …, c uniform in [−1, 1): sums of an even number of elements are 0
    sorted,      ///< ascending magnitudes in [0, 1], random signs: the order that suits in-order summation
    subnormal,   ///< random subnormals of both signs (zero included)
    boundary_mantissas, ///< mantissas 1.11…1, 1.0…01, 1.0…0, 1.10…0, 1.0101…; exponents within ± precision
    /// ±0, ±subnormals, ±smallest normal, ±1 and its neighbours, ±largest·2^−64 (float16 and 8
    /// bits: about ±largest/2): all finite, and no sum overflows the format in which it is made
    /// (float for float16)
    specials,
    nonfinite, ///< specials with, by seed: +inf; −inf; both; or NaN (float8_e4m3: NaN). At least one of them when n ≥ 1
    integers,        ///< −16 … 16: sums are exact up to n = 2^20 in f32, in any order
    wide,            ///< exponents equally likely over 100 binades (Params::binades), random mantissas and signs
    ill_conditioned, ///< a sum with the condition number Params::condition, in random order
    half_zeros,      ///< normal, with every element +0 that a coin says: about half of them
    outlier,         ///< normal, and at one random index ±largest·2^−64 (float16: ±largest/2)
};

struct Params {
    double sigma = 1.0;     ///< lognormal
    int binades = 100;      ///< wide: 1 … what the format's normal numbers hold; more is cut to that
    double condition = 1e8; ///< ill_conditioned: Σ|x|/|Σx| ≥ 1; the result lies within a factor of 4 (see generate)
};

/// Every family, in the order in which tables show them.
[[nodiscard]] std::span<const Family> families() noexcept;
[[nodiscard]] std::string_view name(Family family) noexcept;
[[nodiscard]] std::optional<Family> parse_family(std::string_view text) noexcept;

/// The first n elements. T is the type of any dtype.
///
/// `ill_conditioned` gives Params::condition/4 … 4·Params::condition, but n elements of precision p
/// can only cancel so far: the condition number asked for is first cut to 2^((p−3)·⌊n/2⌋), and to
/// what exponents allow: 2^160 for float and bfloat16, 2^36 for float16, whose terms reach up to
/// 2^13 and whose sums are multiples of 2^−24, 2^10 for 8 bits.
/// Throws std::invalid_argument when the condition number is not a number ≥ 1.
template <class T>
[[nodiscard]] std::vector<T> generate(Family family, std::size_t n, std::uint64_t seed, const Params& params = {});

/// 64 random bits as a function of (seed, counter): SplitMix64's output function (Steele, Lea,
/// Flood 2014) at the counter-th step.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
[[nodiscard]] constexpr std::uint64_t hash(std::uint64_t seed, std::uint64_t counter) noexcept {
    return mix(mix(seed) + (counter + 1) * 0x9e3779b97f4a7c15u); // mix(seed): neighbouring seeds must not overlap
}

/// A random permutation, the same for the same seed and length (Fisher & Yates 1938;
/// Durstenfeld 1964). The remainder's bias is below n/2^64.
template <class T>
void shuffle(std::span<T> xs, std::uint64_t seed) noexcept {
    for (std::size_t i = xs.size(); i > 1; --i)
        std::swap(xs[i - 1], xs[hash(seed, i) % i]);
}

} // namespace detreduce::accuracy
