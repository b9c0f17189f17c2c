// Stands in for kernels/platform/warp.cuh.
#pragma once

#include <cstdint>
#include <type_traits>

namespace detreduce::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned all_threads = 0xffffffffu;

/// The value of thread from(lane).
template <class Value, class From>
Value shuffle(const char* what, const Value& value, const From& from) {
    Value moved{};
    for (std::size_t at = 0; at < sizeof(Value); at += 8) {
        const std::size_t bytes = sizeof(Value) - at < 8 ? sizeof(Value) - at : 8;
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const char*>(&value) + at, bytes);
        word = emulator::meet_warp(what, word)[from(emulator::lane())];
        std::memcpy(reinterpret_cast<char*>(&moved) + at, &word, bytes);
    }
    return moved;
}
template <class Value>
Value shuffle_down(const Value& value, int distance) {
    return shuffle("shuffle_down", value, [=](unsigned lane) {
        return lane + static_cast<unsigned>(distance) < 32 ? lane + static_cast<unsigned>(distance) : lane;
    });
}
template <class Value>
Value shuffle_xor(const Value& value, int mask) {
    return shuffle("shuffle_xor", value, [=](unsigned lane) { return (lane ^ static_cast<unsigned>(mask)) % 32; });
}
template <class Value>
Value shuffle_from(const Value& value, int from) {
    return shuffle("shuffle_from", value, [=](unsigned) { return static_cast<unsigned>(from) % 32; });
}

[[nodiscard]] inline std::uint32_t votes_of_warp(bool vote) {
    const std::uint64_t* const votes = emulator::meet_warp("vote", vote ? 1 : 2);
    std::uint32_t bits = 0;
    for (int i = 0; i < warp_size; ++i)
        bits |= votes[i] == 1 ? 1u << i : 0u;
    return bits;
}
[[nodiscard]] inline bool any_of_warp(bool vote) {
    return votes_of_warp(vote) != 0;
}
[[nodiscard]] inline bool all_of_warp(bool vote) {
    return votes_of_warp(!vote) == 0;
}
inline void sync_warp() {
    (void)emulator::meet_warp("sync_warp", 0);
}

inline void sync_team() {
    emulator::meet_team();
}

template <class Integer, class Merge>
Integer warp_reduce(const char* what, Integer value, const Merge& merge) {
    static_assert(std::is_same_v<Integer, std::uint32_t> || std::is_same_v<Integer, std::int32_t>);
    const std::uint64_t* const values = emulator::meet_warp(what, static_cast<std::uint32_t>(value));
    auto result = static_cast<Integer>(static_cast<std::uint32_t>(values[0]));
    for (int i = 1; i < warp_size; ++i)
        result = merge(result, static_cast<Integer>(static_cast<std::uint32_t>(values[i])));
    return result;
}
template <class Integer>
Integer warp_add(Integer value) {
    return warp_reduce("warp_add", value, [](Integer a, Integer b) {
        return static_cast<Integer>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
    });
}
template <class Integer>
Integer warp_min(Integer value) {
    return warp_reduce("warp_min", value, [](Integer a, Integer b) { return a < b ? a : b; });
}
template <class Integer>
Integer warp_max(Integer value) {
    return warp_reduce("warp_max", value, [](Integer a, Integer b) { return a < b ? b : a; });
}

} // namespace detreduce::cuda
