// Data that is made to be slow to sum by `exact`: families of it, with parameters to search through
// (gpu/adversaries.cpp), and what was the worst. Element i is a function of the parameters, a seed
// and i, as in cost_data.hpp.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <detreduce/types.hpp>

#include "draws.hpp"

namespace detreduce::report {

enum class Family : std::uint8_t {
    windows,     ///< exponents alternate between both ends of the gap, a period each: no window holds both
    drift,       ///< the gap begins at another exponent in each period
    outliers,    ///< near 1, and one element of a period a gap above or below
    specials,    ///< within the gap, and one element of a period NaN, infinite or −0
    minus_zeros, ///< −0, but for one element of a period: whether there is anything else has to be looked for
    limbs,       ///< exponents go through the whole format, a gap further in each period
};
inline constexpr std::string_view family_names[] = {"windows", "drift", "outliers", "specials", "minus_zeros", "limbs"};
inline constexpr int families = static_cast<int>(std::size(family_names));

struct Adversary {
    Family family;
    std::uint64_t period; ///< elements, at least 1
    int gap;              ///< binades, at least 1
    int phase;            ///< from 0 to 5: where in a period, with which sign, of which kind
    friend bool operator==(const Adversary&, const Adversary&) = default;
};

[[nodiscard]] constexpr std::string_view name(Family family) {
    return family_names[static_cast<int>(family)];
}

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T element(const Adversary& a, std::uint64_t seed, std::uint64_t i) {
    constexpr int bias = fp::Format<T>::max_exponent,
                  last = 2 * bias; // exponent fields of 1 and of the largest numbers
    const Draws draw{seed, i};
    const std::uint64_t block = i / a.period;
    const bool odd = (block + static_cast<std::uint64_t>(a.phase)) % 2 != 0,
               alone = i % a.period == a.phase / 3 * (a.period / 2);
    const auto number = [&](int field) { // subnormals are of every gap that reaches down to them
        return cost_data::compose<T>(draw(0), field < 0 ? 0 : field > last ? last : field, draw(2));
    };
    switch (a.family) {
    case Family::windows:
        return number(bias + (odd ? a.gap - a.gap / 2 : -(a.gap / 2)));
    case Family::drift:
        return number(Draws{~seed, block}.below(3, last) + draw.below(1, a.gap + 1) - a.gap / 2);
    case Family::outliers:
        return number(bias + (!alone ? 0 : a.phase % 2 != 0 ? -a.gap : a.gap));
    case Family::specials:
        if (!alone) return number(bias + draw.below(1, a.gap + 1) - a.gap / 2);
        if (a.phase % 3 == 2) return fp::from_bits<T>(fp::sign_mask<T>);
        return cost_data::compose<T>(draw(0), last + 1, a.phase % 3 == 0 ? ~std::uint64_t{0} : 0);
    case Family::minus_zeros:
        return alone ? number(bias + a.gap) : fp::from_bits<T>(fp::sign_mask<T>);
    default:
        return number(static_cast<int>((block * static_cast<std::uint64_t>(a.gap) + draw(1) % 2) % (last + 1)));
    }
}

/// The worst for sums, by the searches of which results/nvidia-h200/adversaries.csv is the last.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr Adversary worst_adversary() {
    if constexpr (std::is_same_v<T, float16>) return {Family::specials, 10, 14, 0};
    if constexpr (std::is_same_v<T, bfloat16>) return {Family::limbs, 2, 85, 3};
    if constexpr (std::is_same_v<T, float>) return {Family::specials, 8, 231, 2};
    return {Family::limbs, 4, 810, 5};
}

} // namespace detreduce::report
