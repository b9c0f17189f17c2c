// Stands in for kernels/platform/memory.cuh.
#pragma once

#include <cstdint>
#include <cstring>

namespace detreduce::cuda {

template <class Value>
[[nodiscard]] Value load_read_only(const Value* p) {
    return emulator::load<Value>(p);
}
template <class Value>
[[nodiscard]] Value load_from_l2(const Value* p) {
    return emulator::load<Value>(p);
}
inline void keep_order() {}
[[nodiscard]] inline uint4 load16_once(const void* p) {
    return emulator::load<uint4>(p, 16);
}
inline void load16_once_if(bool there, const void* p, uint4& v) {
    if (there) v = load16_once(p);
}
inline void load2_if(bool there, const void* p, std::uint16_t& half) {
    if (there) half = emulator::load<std::uint16_t>(p);
}
inline void load4_if_more_than_one(int left, const void* p, std::uint32_t& word) {
    if (left > 1) word = emulator::load<std::uint32_t>(p);
}
inline void load4_of_row_if(bool there, const void* p, std::uint32_t (&words)[4]) {
    for (int i = 0; there && i < 4; ++i)
        words[i] = emulator::load<std::uint32_t>(static_cast<const char*>(p) + 128 * i);
}
inline void load16_of_halves_if(bool there, const std::uint16_t* p, bool odd, std::uint32_t (&words)[5]) {
    for (std::uint32_t& w : words)
        w = 0;
    if (!there) return;
    const std::uint16_t* const even = p + (odd ? 1 : 0);
    if (odd) words[0] = emulator::load<std::uint16_t>(even - 1);
    for (int i = 0; i < 3; ++i)
        words[1 + i] = emulator::load<std::uint32_t>(even + 2 * i);
    words[4] = odd ? emulator::load<std::uint16_t>(even + 6) : emulator::load<std::uint32_t>(even + 6);
}
inline void load16_of_halves_if_8(int there, const std::uint16_t* p, bool odd, std::uint32_t (&words)[5]) {
    load16_of_halves_if(there >= 8, p, odd, words);
}

inline void store16(void* p, const std::uint32_t (&w)[4]) {
    if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) emulator::fail("a store to a misaligned address");
    std::memcpy(p, w, sizeof w);
}

inline void prefetch_to_l2(const void*) {}
inline void copy16_to_shared(void* to, const void* from) {
    if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % 16 != 0)
        emulator::fail("a copy at a misaligned address");
    emulator::copy16_later(to, from);
}
inline void end_copies() {
    emulator::end_copies();
}
template <int Last = 0>
void wait_for_copies() {
    emulator::wait_for_copies(Last);
}

} // namespace detreduce::cuda
