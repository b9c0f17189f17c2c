// What the structs of the C API are made of.
#pragma once

#include <cstdint>

#include <detreduce/detreduce.h>

#include "elements.hpp"

namespace detreduce::fuzz {

/// A number that names something, or hardly, or nothing.
inline std::int32_t any_word(FuzzedDataProvider& in) {
    if (in.ConsumeIntegralInRange(0, 7) == 0) return in.ConsumeIntegral<std::int32_t>();
    return in.ConsumeIntegralInRange<std::int32_t>(-2, 22);
}

inline void require_well_formed(const detreduce_status& s) {
    require(s.argument != nullptr && s.allowed != nullptr, "strings of a status are not null");
    detreduce::fuzz::require_well_formed(
        Status{static_cast<StatusCode>(s.code), s.argument, s.allowed, s.cuda_error, s.index});
}

/// The pointer, or null.
template <class T>
T* or_null(FuzzedDataProvider& in, T* pointer) {
    return in.ConsumeIntegralInRange(0, 9) == 0 ? nullptr : pointer;
}

inline detreduce_device any_device(FuzzedDataProvider& in) {
    if (in.ConsumeIntegralInRange(0, 3) != 0) return {DETREDUCE_BACKEND_CPU, -1};
    return {any_word(in), in.ConsumeIntegral<std::int32_t>()};
}

/// Threads are made: few, or as many as are refused.
inline std::uint32_t any_threads(FuzzedDataProvider& in) {
    return in.ConsumeIntegralInRange(0, 15) == 0 ? 1025 + in.ConsumeIntegral<std::uint16_t>()
                                                 : in.ConsumeIntegralInRange<std::uint32_t>(1, 3);
}
inline detreduce_launch any_launch(FuzzedDataProvider& in) {
    return {any_word(in) % 5,
            in.ConsumeIntegral<std::uint8_t>(),
            in.ConsumeIntegral<std::uint8_t>(),
            any_threads(in),
            any_word(in) % 5,
            {}};
}

} // namespace detreduce::fuzz
