// Random words, and numbers made of them, by the same integer arithmetic on host and device.
#pragma once

#include <cstdint>

#include <detreduce/fp/bits.hpp>

namespace detreduce::report {

/// The random words of one element.
struct Draws {
    std::uint64_t seed, element;
    /// Word `k` < 8: SplitMix64 (Steele, Lea, Flood 2014) at a step of its own.
    [[nodiscard]] DETREDUCE_HD constexpr std::uint64_t operator()(std::uint64_t k) const {
        std::uint64_t z = seed * 0xd1342543de82ef95u + (8 * element + k + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// 0 … count − 1
    [[nodiscard]] DETREDUCE_HD constexpr int below(std::uint64_t k, int count) const {
        return static_cast<int>(((*this)(k) >> 32) * static_cast<std::uint64_t>(count) >> 32);
    }
};

namespace cost_data {

/// From sign, exponent field and the fraction's bits, of which the lowest are taken.
template <class T>
[[nodiscard]] DETREDUCE_HD constexpr T compose(std::uint64_t sign, int field, std::uint64_t fraction) {
    constexpr int fraction_bits = fp::Format<T>::precision - 1;
    const std::uint64_t magnitude =
        static_cast<std::uint64_t>(field) << fraction_bits | (fraction & ((std::uint64_t{1} << fraction_bits) - 1));
    const auto bits = static_cast<fp::Bits<T>>(magnitude);
    return fp::from_bits<T>(static_cast<fp::Bits<T>>((sign & 1) != 0 ? bits | fp::sign_mask<T> : bits));
}

} // namespace cost_data
} // namespace detreduce::report
