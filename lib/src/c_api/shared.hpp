// What all of the C headers needs: words to enumerators, and statuses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <detreduce/detreduce.h>
#include <detreduce/plan.hpp>

namespace detreduce::c_api {

namespace dr = detreduce;

template <class Enum>
constexpr bool is(std::int32_t value, Enum word) {
    return value == static_cast<std::int32_t>(word);
}

/// The enumerator of a word; of one that has none, 255, which never has a name: nothing may wrap
/// around to a valid one.
template <class Enum>
Enum as(std::int32_t word) {
    return static_cast<Enum>(word >= 0 && word < 255 ? word : 255);
}

/// The same of a word that may also be `none`.
template <class Enum>
std::optional<Enum> as_optional(std::int32_t word, std::int32_t none) {
    if (word == none) return std::nullopt;
    return as<Enum>(word);
}

/// Names are literals, so their data() ends with a zero.
template <class Enum>
const char* name_of(std::int32_t word) {
    return name(as<Enum>(word)).data();
}
/// The enumerator whose name() is `text`; names are numbered from 0 on.
template <class Enum>
std::int32_t parsed(const char* text) {
    for (std::int32_t i = 0; text != nullptr && i < 255 && name(as<Enum>(i)) != "?"; ++i) {
        if (name(as<Enum>(i)) == text) return i;
    }
    return DETREDUCE_UNKNOWN;
}

inline detreduce_status as_c(const dr::Status& s) {
    return {static_cast<detreduce_status_code>(s.code), s.argument, s.allowed, s.cuda_code, s.index, {}};
}
inline detreduce_status invalid(const char* argument, const char* allowed) {
    return {DETREDUCE_INVALID_ARGUMENT, argument, allowed, 0, DETREDUCE_NO_ELEMENT, {}};
}
inline detreduce_status null(const char* argument) {
    return invalid(argument, "must not be null");
}

template <class T, std::size_t N>
bool are_zero(const T (&reserved)[N]) {
    return std::all_of(reserved, reserved + N, [](T r) { return r == T{}; });
}

inline dr::Launch as_launch(const detreduce_launch& l) {
    return {as<dr::Schedule>(l.schedule), l.grid, l.block, l.threads, as<dr::Isa>(l.isa)};
}

inline dr::Device as_device(const detreduce_device& d) {
    return {as<dr::Backend>(d.backend), d.index};
}

/// The defaults, as many bytes of them as a caller's struct has, and zeros behind them.
template <class Struct>
void set_defaults(Struct* to, std::size_t struct_size, Struct defaults) {
    if (to == nullptr || struct_size < sizeof struct_size) return;
    defaults.struct_size = struct_size;
    std::memset(to, 0, struct_size);
    std::memcpy(to, &defaults, std::min(struct_size, sizeof defaults));
}

} // namespace detreduce::c_api
