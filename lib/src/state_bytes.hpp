// The serialized form of states (lib/SPEC.md, sections 7.2 and 18.5): what both of its versions
// share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <detreduce/plan.hpp>
#include <detreduce/status.hpp>

namespace detreduce::state_bytes {

inline constexpr char magic[8] = {'D', 'R', 'E', 'X', 'A', 'C', 'T', '\n'};
inline constexpr std::size_t checksum_bytes = 8;

/// Little-endian, on every machine.
inline void put(std::byte* to, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        to[i] = static_cast<std::byte>(value >> (8 * i));
}
[[nodiscard]] inline std::uint64_t get(const std::byte* from, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        value |= std::uint64_t{std::to_integer<std::uint8_t>(from[i])} << (8 * i);
    return value;
}

/// FNV-1a, 64 bits (Fowler, Noll & Vo): any single changed byte changes it.
[[nodiscard]] inline std::uint64_t checksum(std::span<const std::byte> bytes) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::byte b : bytes)
        hash = (hash ^ std::to_integer<std::uint8_t>(b)) * 0x100000001b3u;
    return hash;
}

/// What whole bytes say that they are: which version, of which request, and where their words
/// begin.
struct Header {
    std::uint64_t version, words, groups;
    Request request; ///< for states, on the CPU; version 1 knows no dtype
    std::size_t begin;
};

/// Reads the header; refuses, as `argument`, what is no serialized state, of another version,
/// truncated, damaged, or of no request that has states. Of the words it knows the checksum alone.
[[nodiscard]] Status read(const char* argument, std::span<const std::byte> bytes, Header& header) noexcept;

} // namespace detreduce::state_bytes
