// What the fingerprint of an array is the sum of (lib/SPEC.md, section 19), from one source for
// host and device.
#pragma once

#include <cstdint>

#include <detreduce/config.hpp>
#include <detreduce/types.hpp>

namespace detreduce::spec {

/// Each number has another (Steele, Lea & Flood 2014, with the constants of Stafford).
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/// What word j, and what length and dtype, add to sum k of the two.
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t fingerprint_term(std::uint64_t word, std::uint64_t j,
                                                                    std::uint64_t k) {
    return mixed(word ^ mixed(2 * j + k + 1));
}
[[nodiscard]] DETREDUCE_HD constexpr std::uint64_t fingerprint_term(DType dtype, std::uint64_t n, std::uint64_t k) {
    return mixed(n + ((2 * static_cast<std::uint64_t>(dtype) + k + 1) << 48));
}

} // namespace detreduce::spec
