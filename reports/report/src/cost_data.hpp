// Data for timing. What a sum costs may depend on the data, so there are several kinds, from
// harmless to hostile. Element i is a function of (kind, seed, i), made by the same integer
// arithmetic on host and device: the CPU and every GPU are timed on the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <detreduce/fp/convert.hpp>

#include "adversaries.hpp"

namespace detreduce::report {

enum class Data : std::uint8_t {
    normal,     ///< mean 0, variance 1, |x| ≤ 6: sums of 12 uniforms
    half_zeros, ///< normal, but every second element, at random, is +0
    lognormal,  ///< about exp(3 · normal), cut at the largest number: most within 13 binades, some within 50
    outlier,    ///< normal, and one element of a slice ±largest/2^64 (f16, which has no such number: ±largest/2)
    wide,      ///< exponents equally likely over 100 binades (f16: over its normal numbers), random signs and mantissas
    worst,     ///< exponents equally likely over the whole format, subnormals included, random signs and mantissas
    adversary, ///< what a search found to be the slowest for `exact` on a GPU: with NaN, of some formats
};

inline constexpr Data all_data[] = {Data::normal, Data::half_zeros, Data::lognormal, Data::outlier,
                                    Data::wide,   Data::worst,      Data::adversary};
inline constexpr std::string_view data_names[] = {"normal", "half_zeros", "lognormal", "outlier",
                                                  "wide",   "worst",      "adversary"};

[[nodiscard]] constexpr std::string_view name(Data data) {
    return data_names[static_cast<int>(data)];
}
[[nodiscard]] constexpr std::optional<Data> parse_data(std::string_view text) {
    for (const Data data : all_data)
        if (name(data) == text) return data;
    return std::nullopt;
}

namespace cost_data {

/// Twelve uniforms of 21 bits, and 32 random bits below so that every bit of a double's mantissa is
/// random.
[[nodiscard]] DETREDUCE_HD constexpr double normal(const Draws& draw) {
    std::int64_t sum = -(std::int64_t{6} << 21);
    for (std::uint64_t k = 0; k < 4; ++k)
        for (unsigned part = 0; part < 3; ++part)
            sum += static_cast<std::int64_t>(draw(k) >> (21 * part) & 0x1fffff);
    return static_cast<double>(sum * (std::int64_t{1} << 32) + static_cast<std::int64_t>(draw(4) >> 32)) * 0x1p-53;
}

/// 2^y with straight lines between the powers of two: no library's exp, so the same bits
/// everywhere.
[[nodiscard]] DETREDUCE_HD constexpr double about_exp2(double y) {
    const int towards_zero = static_cast<int>(y), floor = towards_zero - (y < towards_zero ? 1 : 0);
    return (1 + (y - floor)) * compose<double>(0, floor + 1023, 0);
}

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T lognormal(const Draws& draw) {
    constexpr double sigma_log2_e = 3 * 1.4426950408889634;
    const T x = fp::round_to<T>(about_exp2(sigma_log2_e * normal(draw)));
    return fp::is_finite(x) ? x : fp::from_bits<T>(fp::Format<T>::largest);
}

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T huge(std::uint64_t sign) {
    constexpr int top = fp::Format<T>::max_exponent, room = top > 64 ? 64 : 1;
    return compose<T>(sign, 2 * top - room, ~std::uint64_t{0});
}

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T wide(const Draws& draw) {
    constexpr int top = fp::Format<T>::max_exponent;
    constexpr int first = top > 50 ? top - 50 : 1, last = top > 49 ? top + 49 : 2 * top; // exponent fields
    return compose<T>(draw(0), first + draw.below(1, last - first + 1), draw(2));
}

template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T worst(const Draws& draw) {
    return compose<T>(draw(0), draw.below(1, 2 * fp::Format<T>::max_exponent + 1), draw(2));
}

} // namespace cost_data

/// Element i of memory that is used in slices of `slice` elements: each has one outlier.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T element(Data data, std::uint64_t seed, std::uint64_t i, std::uint64_t slice) {
    const Draws draw{seed, i};
    switch (data) {
    case Data::half_zeros:
        return draw(5) >> 63 ? fp::from_bits<T>(0) : fp::round_to<T>(cost_data::normal(draw));
    case Data::lognormal:
        return cost_data::lognormal<T>(draw);
    case Data::outlier:
        if (const Draws of_slice{~seed, i / slice}; i % slice == of_slice(0) % slice)
            return cost_data::huge<T>(of_slice(1));
        return fp::round_to<T>(cost_data::normal(draw));
    case Data::wide:
        return cost_data::wide<T>(draw);
    case Data::worst:
        return cost_data::worst<T>(draw);
    case Data::adversary:
        return element<T>(worst_adversary<T>(), seed, i);
    default:
        return fp::round_to<T>(cost_data::normal(draw));
    }
}

} // namespace detreduce::report
