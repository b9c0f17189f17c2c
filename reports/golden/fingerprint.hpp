// FNV-1a, 64 bits: many results as one number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace detreduce::golden {

inline constexpr std::uint64_t empty_fingerprint = 0xcbf29ce484222325u;

/// That of everything before, and of the lowest `bytes` bytes of `bits`, lowest first.
[[nodiscard]] constexpr std::uint64_t fingerprint_with(std::uint64_t before, std::uint64_t bits, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        before = (before ^ (bits >> (8 * i) & 0xff)) * 0x100000001b3u;
    return before;
}

} // namespace detreduce::golden
