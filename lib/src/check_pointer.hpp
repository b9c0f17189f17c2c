// What is said about arguments, by run() and by whatever adds to a state.
#pragma once

#include <cstdint>

#include <detreduce/status.hpp>
#include <detreduce/types.hpp>

#include "allowed.hpp"

namespace detreduce {

[[nodiscard]] constexpr Status invalid(const char* argument, const char* allowed,
                                       std::uint64_t index = Status::no_element) {
    return {StatusCode::invalid_argument, argument, allowed, 0, index};
}

[[nodiscard]] inline bool misaligned(const void* p, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(p) % alignment != 0;
}

[[nodiscard]] inline Status check_alignment(const char* argument, const void* p, DType dtype) {
    if (!misaligned(p, size_of(dtype))) return {};
    return invalid(argument, "must be aligned to its element: 2 bytes for f16 and bf16, 4 for f32, 8 for f64");
}

/// n elements of `dtype` at `p`.
[[nodiscard]] inline Status check_elements(const char* argument, const void* p, DType dtype, std::uint64_t n) {
    if (p == nullptr && n > 0) return invalid(argument, "must not be null unless n is 0");
    return check_alignment(argument, p, dtype);
}

} // namespace detreduce
